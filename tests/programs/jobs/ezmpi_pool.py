"""ezmpi: a pool whose tasks are closures, pickled by dill."""

from ezmpi import MPIPool

if __name__ == "__main__":
    power = 3
    with MPIPool(use_dill=True) as pool:
        print(pool.map(lambda x: x**power, range(10)))
        print(pool.map(lambda words: {word: len(word) for word in words}, [["a", "bc"], ["def"]]))
        print("workers", pool.size)

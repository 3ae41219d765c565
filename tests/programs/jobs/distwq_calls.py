"""distwq: calls submitted by a controller, results as they come."""

import distwq


def square(x):
    """Work of a worker."""
    return x * x


def main(controller):
    """Work of the controller."""
    for number in range(12):
        controller.submit_call("square", (number,), module_name="__main__")
    print(sorted(controller.get_next_result()[1] for _ in range(12)))


if __name__ == "__main__":
    if distwq.is_controller:
        distwq.run(fun_name="main", module_name="__main__")
    else:
        distwq.run()

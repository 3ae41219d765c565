# Everything here makes its own environment in $(VENV); it needs python3 with venv, make and gcc.
PYTHON ?= python3
VENV ?= .venv
export PIP_DISABLE_PIP_VERSION_CHECK = 1

KERNEL_C := $(shell find kernels/event -name '*.c')
KERNEL_H := $(shell find kernels/event -name '*.h')
KERNELS := $(shell find kernels -name '*.[ch]' -o -name '*.py' -o -name CMakeLists.txt)

.PHONY: hpl test develop build lint format test-c check docs dist clean

hpl: $(VENV)/installed  ## High-Performance Linpack on 4,096 ranks of the default cluster
	$(VENV)/bin/smpy run -np 4096 --compute none apps/hpl.py \
	    --skeleton --n 20000 --nb 120 --p 8 --q 512 --bcast 1ring

test: develop  ## the default tests
	$(VENV)/bin/python -m pytest -n auto

develop: $(VENV)/developing  ## an environment to work in; afterwards, what changed in C is compiled again
	@$(MAKE) --no-print-directory build

build:  ## what changed in C is compiled again, with the tools in $(VENV): it may be another clone's
	@$(VENV)/bin/python kernels/build.py

lint: $(VENV)/developing
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

format: $(VENV)/developing
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

check: lint test test-c  ## all that a change must pass

docs: $(VENV)/documenting  ## the site, build/docs/site/index.html; a warning is an error
	$(VENV)/bin/python docs/gather.py build/docs/pages
	$(VENV)/bin/sphinx-build --quiet --fail-on-warning --keep-going -c docs build/docs/pages build/docs/site

dist: $(VENV)/developing  ## what PyPI gets: source archive and wheel, both looked at
	rm -rf dist
	$(VENV)/bin/python -m build --quiet
	$(VENV)/bin/twine check --strict dist/*

clean:
	rm -rf $(VENV) build dist
	find smpy -name '*.so' -delete

# ---- the environment ----

$(VENV)/made:
	$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(VENV)/installed: $(VENV)/made pyproject.toml $(KERNELS)
	$(VENV)/bin/pip install --quiet --editable .
	@touch $@

$(VENV)/developing: $(VENV)/made pyproject.toml
	$(VENV)/bin/pip install --quiet --editable '.[dev]'
	@touch $(VENV)/installed $@

$(VENV)/documenting: $(VENV)/developing
	$(VENV)/bin/pip install --quiet --editable '.[docs]'
	@touch $@

# ---- the kernel's own tests: each tests/c/*.c and tests/extending/*.c is a program; the structures check themselves ----

SANITIZE := -std=c11 -O1 -g -Wall -Wextra -Wconversion -Werror -DSMPY_CHECK -Ikernels/event \
            -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
C_OBJECTS := $(KERNEL_C:kernels/event/%.c=build/c/event/%.o)
comma := ,
C_TESTS := $(patsubst tests/c/%.c,build/c/%,$(wildcard tests/c/*.c)) \
           $(patsubst tests/extending/%.c,build/c/extending/%,$(wildcard tests/extending/*.c))

.SECONDARY: $(C_OBJECTS)

build/c/event/%.o: kernels/event/%.c $(KERNEL_H)
	@mkdir -p $(@D)
	@echo compiling $<
	@$(CC) $(SANITIZE) -c $< -o $@

build/c/%: tests/c/%.c $(wildcard tests/c/*.h) $(C_OBJECTS)
	@echo compiling $<
	@$(CC) $(SANITIZE) $< $(C_OBJECTS) $(C_LINK) -lm -o $@

build/c/extending/%: tests/extending/%.c $(C_OBJECTS)
	@mkdir -p $(@D)
	@echo compiling $<
	@$(CC) $(SANITIZE) -Ikernels/event/networks $< $(C_OBJECTS) -lm -o $@

# calls of these functions go to __wrap_malloc and so on
build/c/test_memory build/c/test_fair: C_LINK := $(patsubst %,-Wl$(comma)--wrap=%,malloc calloc realloc aligned_alloc fair_check)

test-c: $(C_TESTS:%=%.run)
	@$(PYTHON) tests/c/check_layers.py $(CC) build/c/event

.PHONY: $(C_TESTS:%=%.run)
$(C_TESTS:%=%.run): %.run: %
	@echo $<
	@$<

# The words a person types. Each sets up what it needs, says what it does, and can be repeated.
SHELL := /bin/bash
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: setup
setup: $(STAMP)  ## virtual environment from hashed requirements, jars through Ivy
	@$(BIN)/python -m sandbox.jars

$(STAMP): requirements/dev.txt pyproject.toml
	@PYTHON=$(PYTHON) bash sandbox/install.sh $(VENV)

"""Formats answers of the API as text: tables, blocks of sentences, explanations."""

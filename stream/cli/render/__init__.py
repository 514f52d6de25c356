"""Formats answers as text: tables, blocks, explanations. Knows no source of the answers."""

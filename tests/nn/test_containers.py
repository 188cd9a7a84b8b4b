"""Containers follow the protocols of Python's list and dict, and PyTorch's names for their members."""

from __future__ import annotations

import numpy as np
import pytest

from jitmagic import nn


def test_rows_are_indexed_and_sliced() -> None:
    layers = [nn.Linear(2, 2) for _ in range(4)]
    for row in (nn.Sequential(*layers), nn.ModuleList(layers)):
        assert len(row) == 4
        assert row[-1] is layers[3]
        assert type(row[1:3]) is type(row)
        assert list(row[1:3]) == layers[1:3]
        assert layers[2] in row
        with pytest.raises(IndexError, match="out of range"):
            row[4]
        with pytest.raises(TypeError):
            row["0"]


def test_rows_change_as_lists_do() -> None:
    a, b, c = nn.ReLU(), nn.Tanh(), nn.Identity()
    row = nn.ModuleList([a])
    row.append(c).insert(1, b)
    assert list(row) == [a, b, c]
    assert list(row._modules) == ["0", "1", "2"]
    del row[0]
    assert row.pop(-1) is c
    row += [a]
    more = [c]
    assert list(row + more) == [b, a, c]
    row[0] = c
    assert list(row) == [c, a]


def test_a_sequential_takes_names() -> None:
    row = nn.Sequential({"first": nn.Linear(2, 3), "then": nn.ReLU()})
    assert list(row.state_dict()) == ["first.weight", "first.bias"]
    assert row.first is row[0]
    assert row(np.ones((1, 2))).shape == (1, 3)


def test_a_module_dict_is_a_dict() -> None:
    table = nn.ModuleDict({"a": nn.ReLU()})
    table["b"] = nn.Tanh()
    assert list(table) == list(table.keys()) == ["a", "b"]
    assert "a" in table
    assert table.pop("a").__class__ is nn.ReLU
    assert [name for name, _ in table.items()] == ["b"]
    table.clear()
    assert len(table) == 0


def test_a_parameter_list_gives_arrays() -> None:
    row = nn.ParameterList([np.ones(2), nn.Parameter(np.zeros(3))])
    row.append(np.ones(1))
    assert [p.shape for p in row] == [(2,), (3,), (1,)]
    assert row[-1].shape == (1,)
    assert [p.shape for p in row[:2]] == [(2,), (3,)]
    assert [n for n, _ in row.named_parameters()] == ["0", "1", "2"]
    row[0] = np.full(2, 5.0)
    assert row[0][0] == 5.0


def test_a_parameter_dict_gives_arrays() -> None:
    table = nn.ParameterDict({"w": np.ones(2)})
    table["v"] = np.zeros(3)
    assert list(table.keys()) == ["w", "v"]
    assert [(k, v.shape) for k, v in table.items()] == [("w", (2,)), ("v", (3,))]
    assert table.get("u") is None
    assert table.pop("w").shape == (2,)
    assert "w" not in table


def test_lists_of_modules_cannot_be_called() -> None:
    with pytest.raises(NotImplementedError, match="forward"):
        nn.ModuleList()(1)

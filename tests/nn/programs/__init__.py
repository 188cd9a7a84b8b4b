"""Programs over modules as text: what people write, with changes between the calls."""

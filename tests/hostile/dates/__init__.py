"""Right at every date: what a hostile or careless peer hears is what its revision demands."""

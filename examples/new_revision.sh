nox -s schema -- 2027-01-31 --from new/schema.json --pin
cp schema/2026-07-28/facts.toml schema/2027-01-31/  # then go through it: what has changed?
nox -s regen

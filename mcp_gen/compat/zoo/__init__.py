"""The zoo: peers that each break one rule, and their twins, which just keep it."""

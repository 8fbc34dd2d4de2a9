namespace unweave {}

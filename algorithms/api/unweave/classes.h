// algorithms/api/unweave/classes.h - what users call the classes of a store, as texts and as lists.
//
// Reader::class_names() and StoreInfo::class_names have the names of a store,
// ImportOptions::class_names gives them.
#pragma once

#include "storage/types/class_names.h"

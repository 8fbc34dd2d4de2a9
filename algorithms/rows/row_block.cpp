// algorithms/rows/row_block.cpp - the table of blocks.
#include "algorithms/rows/row_block.h"

#include <algorithm>
#include <array>

#include "algorithms/rows/blocks/blocks.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

const auto kBlocks = std::to_array<RowBlockEntry>({
    {"open", make_open_block, [](std::size_t columns, std::size_t) { return columns; }},
    {"labels", make_label_block, [](std::size_t, std::size_t classes) { return classes; }},
    {"degree", make_degree_block, [](std::size_t, std::size_t) { return kDegreeWidth; }},
});

}  // namespace

const RowBlockEntry& row_block(std::string_view name) {
  const auto found =
      std::find_if(kBlocks.begin(), kBlocks.end(), [&](const RowBlockEntry& entry) { return entry.name == name; });
  if (found != kBlocks.end()) return *found;
  std::string names;
  for (const RowBlockEntry& entry : kBlocks) names += ", " + std::string(entry.name);
  throw UsageError(option("rows-of") + ": '" + std::string(name) + "' is none of levels, stack, auto" + names);
}

void require_blocks(std::span<const std::string> names) {
  const RowBlockEntry* last = nullptr;
  for (const std::string& name : names) {
    const RowBlockEntry* const entry = &row_block(name);
    if (last != nullptr && entry <= last)
      throw UsageError(option("rows-of") + ": '" + name + "' stands behind '" + std::string(last->name) +
                       "'; name each block once");
    last = entry;
  }
}

}  // namespace unweave

// algorithms/rows/row_source.h - what rows are made from.
#pragma once

#include <cstddef>

namespace unweave {

class Contents;
class Embedding;

/// Both outlive whatever makes rows from them.
struct RowSource {
  const Embedding& embedding;
  const Contents& contents;
  std::size_t classes = 0;  ///< declared, also those without members
};

}  // namespace unweave

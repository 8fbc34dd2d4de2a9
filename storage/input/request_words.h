// storage/input/request_words.h - what words of requests mean in a store: names of nodes and of
// classes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace unweave {

class ClassWords;

/// The node that a word means.
struct NodeWord {
  std::uint64_t id = 0;  ///< above all nodes for a word that means none
  bool by_name = true;   ///< or by its number
};

/// Gives the node that a word means, of a graph whose nodes have names.
using ReadId = std::function<NodeWord(std::string_view word)>;

/// What the words of requests mean in a store.
struct RequestWords {
  ReadId node;                                ///< empty: ids of nodes are numbers
  std::shared_ptr<const ClassWords> classes;  ///< null or without names: classes have numbers alone
  std::vector<std::string> relations{};       ///< kinds of edges; where there are some, each edge names one
  bool real_weights = false;                  ///< weights of edges are real numbers
};

}  // namespace unweave

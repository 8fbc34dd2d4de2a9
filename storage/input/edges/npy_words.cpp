// storage/input/edges/npy_words.cpp - an array of edges whose numbers are names of nodes, as the
// lines of a text.
#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <vector>

#include "storage/input/bytes/npy.h"
#include "storage/input/edges/edge_formats.h"
#include "storage/io/error.h"
#include "storage/io/number_text.h"

namespace unweave {
namespace {

constexpr std::size_t kChunkEdges = std::size_t{1} << 13;

class EdgeWords final : public MadeBytes {
 public:
  /// `second`: where the array has its ends in two rows, a reader of the second.
  EdgeWords(NpyReader first, std::optional<NpyReader> second, std::optional<NpyReader> weights)
      : first_(std::move(first)),
        second_(std::move(second)),
        weights_(std::move(weights)),
        edges_(first_.header().elements / 2) {
    if (second_) second_->skip(edges_);
  }

  [[nodiscard]] std::string place_of_line(std::uint64_t line) const override {
    return "edge " + std::to_string(line - 1) + " of the array";
  }

 private:
  void make(std::string& text) override {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(kChunkEdges, edges_ - done_));
    ids_.resize(2 * count);
    read_all(first_, std::span(ids_).first(second_ ? count : 2 * count));
    if (second_) read_all(*second_, std::span(ids_).last(count));
    values_.resize(weights_ ? count : 0);
    if (weights_) read_all(*weights_, std::span(values_));
    for (std::size_t i = 0; i < count; ++i) {
      add(second_ ? ids_[i] : ids_[2 * i], '\t', text);
      add(second_ ? ids_[count + i] : ids_[2 * i + 1], weights_ ? '\t' : '\n', text);
      if (weights_) text += shortest_text(values_[i]) + '\n';
    }
    done_ += count;
  }

  template <class Value>
  static void read_all(NpyReader& array, std::span<Value> out) {
    while (!out.empty()) out = out.subspan(array.read(out));
  }

  static void add(std::int64_t id, char behind, std::string& text) {
    std::array<char, 24> digits{};
    text.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), id).ptr);
    text += behind;
  }

  NpyReader first_;
  std::optional<NpyReader> second_, weights_;
  std::uint64_t edges_, done_ = 0;
  std::vector<std::int64_t> ids_;
  std::vector<double> values_;
};

}  // namespace

ByteSource open_npy_words(ByteSource source, const InputFile& file, const EdgeOptions& options) {
  NpyReader array(std::move(source), true);
  const EdgeLayout layout = edge_layout(array, file, options);
  if (layout == EdgeLayout::rows && !array.reopenable())
    throw InputError(array.name(), ".npy header", "the ends of edges lie in two rows, which a pipe cannot give at once",
                     "save numpy.ascontiguousarray(a.T), or name a file");
  std::optional<NpyReader> second, weights;
  if (layout == EdgeLayout::rows) second.emplace(file);
  if (options.weights) {
    weights.emplace(*options.weights);
    require_one_weight_an_edge(*weights, array.header().elements / 2);
  }
  InputFile words = file;
  words.header = Header::no;  // an array has none, whatever the texts of an import have
  return {words, std::make_unique<EdgeWords>(std::move(array), std::move(second), std::move(weights))};
}

}  // namespace unweave

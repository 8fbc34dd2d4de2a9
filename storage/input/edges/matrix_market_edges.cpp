// storage/input/edges/matrix_market_edges.cpp - edges as a sparse matrix in Matrix Market's
// coordinate format.
//
// Source: R. Boisvert, R. Pozo, K. Remington, The Matrix Market Exchange Formats, NISTIR 5935,
// 1996.
#include <algorithm>
#include <string>

#include "storage/input/edges/edge_formats.h"
#include "storage/input/edges/edge_weight.h"
#include "storage/input/words/line_reader.h"
#include "storage/input/words/node_id.h"
#include "storage/io/error.h"
#include "storage/io/small_letters.h"

namespace unweave {

namespace {

class MatrixMarketEdges final : public EdgeReader {
 public:
  MatrixMarketEdges(ByteSource source, const EdgeOptions& options)
      : lines_(std::move(source)), outer_limit_(id_limit(options.num_nodes)), rule_(options.weight_rule()) {
    read_banner();
    read_sizes();
  }

  [[nodiscard]] std::optional<std::uint64_t> declared_nodes() const override { return nodes_; }
  [[nodiscard]] bool is_undirected() const noexcept override { return is_symmetric_; }
  [[nodiscard]] LeftOutWeights left_out() const override { return left_out_; }

 private:
  std::size_t read_some(std::span<Edge> out, std::span<std::uint32_t> weights) override {
    std::size_t count = 0;
    std::string_view line;
    while (count < out.size() && next_line(line)) {
      if (seen_ == entries_) fail("more than the declared " + std::to_string(entries_) + " entries");
      Fields fields(line);
      const NodeId u = id(fields);
      const NodeId v = id(fields);
      std::uint32_t weight = 1;
      if (has_value_) {
        double value = 0;
        if (fields.at_end()) fail("wrong column count: row, column and value are expected");
        if (fields.number(value) != std::errc()) fail(quote_for_message(fields.take()) + " is not a number");
        weight = rule_.take(value, left_out_, lines_.name(), [this] { return lines_.place(); });
      }
      if (!fields.at_end()) {
        fail(std::string("wrong column count: more than ") + (has_value_ ? "row, column and value" : "row and column"));
      }
      ++seen_;
      if (weight == 0) continue;
      if (!weights.empty()) weights[count] = weight;
      out[count++] = {u, v};
    }
    if (count == 0 && seen_ < entries_) {
      throw InputError(
          lines_.name(), "after line " + std::to_string(lines_.number()),
          "the file is cut short: " + std::to_string(seen_) + " of " + std::to_string(entries_) + " entries",
          "fetch or write the file again");
    }
    return count;
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw InputError(lines_.name(), lines_.place(), what,
                     "give a square Matrix Market file: coordinate, pattern, real or integer, general or symmetric");
  }

  bool next_line(std::string_view& line) {
    while (lines_.next(line)) {
      const Fields fields(line);
      if (!fields.at_end() && fields.first() != '%') return true;
    }
    return false;
  }

  void read_banner() {
    std::string_view line;
    if (!lines_.next(line)) throw InputError(lines_.name(), "line 1", "the file is empty", "fetch or write it again");
    Fields fields(line);
    const std::string_view banner = fields.take();
    const std::string object = in_small_letters(fields.take());
    const std::string format = in_small_letters(fields.take());
    const std::string field = in_small_letters(fields.take());
    const std::string symmetry = in_small_letters(fields.take());
    // Some collections write the banner with one %.
    if ((banner != "%%MatrixMarket" && banner != "%MatrixMarket") || object != "matrix" || format != "coordinate")
      fail("not a sparse matrix: " + quote_for_message(line));
    if (field != "pattern" && field != "real" && field != "integer") {
      fail("values of kind " + quote_for_message(field) + " are not supported");
    }
    if (symmetry != "general" && symmetry != "symmetric") {
      fail("symmetry " + quote_for_message(symmetry) + " is not supported");
    }
    is_symmetric_ = symmetry == "symmetric";
    has_value_ = field != "pattern";
    if (!has_value_ && rule_.reads_weights())
      throw_no_weight(lines_.name(), lines_.place(), "give a matrix of integers, or real numbers that are whole");
  }

  void read_sizes() {
    std::string_view line;
    if (!next_line(line)) fail("the file is cut short: the line with the sizes is missing");
    Fields fields(line);
    std::uint64_t columns = 0;
    if (fields.number(nodes_) != std::errc() || fields.number(columns) != std::errc() ||
        fields.number(entries_) != std::errc() || !fields.at_end()) {
      fail("rows, columns and entries are expected, not " + quote_for_message(line));
    }
    if (nodes_ != columns) {
      fail("the matrix is not square: " + std::to_string(nodes_) + " x " + std::to_string(columns));
    }
    constexpr std::uint64_t kMostNodes = std::uint64_t{kMaxNodeId} + 1;
    if (nodes_ > kMostNodes) fail(std::to_string(nodes_) + " nodes are more than " + std::to_string(kMostNodes));
    limit_ = std::min(nodes_, outer_limit_);
  }

  NodeId id(Fields& fields) const {
    if (fields.at_end()) fail("wrong column count: row and column are expected");
    std::uint64_t one_based = 0;
    Fields copy = fields;
    const std::errc error = fields.number(one_based);
    if (error == std::errc() && one_based >= 1 && one_based <= limit_) return static_cast<NodeId>(one_based - 1);
    const std::string_view text = copy.take();
    if (error == std::errc() || error == std::errc::result_out_of_range) {
      fail("index " + std::string(text) + " is outside 1.." + std::to_string(limit_) + " (indices count from 1 here)");
    }
    fail(quote_for_message(text) + " is not an index, a whole number from 1");
  }

  LineReader lines_;
  std::uint64_t outer_limit_;  // given from outside
  WeightRule rule_;
  LeftOutWeights left_out_;
  bool is_symmetric_ = false;
  std::uint64_t limit_ = 0;  // and by the file
  std::uint64_t nodes_ = 0;
  std::uint64_t entries_ = 0;
  std::uint64_t seen_ = 0;
  bool has_value_ = false;
};

}  // namespace

std::unique_ptr<EdgeReader> open_matrix_market_edges(ByteSource source, const EdgeOptions& options) {
  return std::make_unique<MatrixMarketEdges>(std::move(source), options);
}

}  // namespace unweave

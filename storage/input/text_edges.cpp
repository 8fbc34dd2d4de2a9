// storage/input/text_edges.cpp - edges as text, two ids a line.
#include <string>

#include "storage/error.h"
#include "storage/input/edge_formats.h"
#include "storage/input/line_reader.h"
#include "storage/input/node_id.h"

namespace unweave {

namespace {

class TextEdges final : public EdgeReader {
 public:
  TextEdges(ByteSource source, std::uint64_t limit) : lines_(std::move(source)), limit_(limit) {}

  std::size_t read(std::span<Edge> out) override {
    std::size_t count = 0;
    std::string_view line;
    while (count < out.size() && lines_.next(line)) {
      Fields fields(line);
      if (fields.at_end() || fields.first() == '#') continue;
      std::uint64_t u = 0;
      std::uint64_t v = 0;
      if (fields.number(u) != std::errc() || fields.number(v) != std::errc() || !fields.at_end() ||
          fields.after_comma() || u >= limit_ || v >= limit_) {
        explain(line);
      }
      out[count++] = {static_cast<NodeId>(u), static_cast<NodeId>(v)};
    }
    return count;
  }

 private:
  /// Finds out what is wrong with a line that did not parse. Slow and apart from the loop above.
  [[noreturn]] void explain(std::string_view line) const {
    const std::size_t columns = Fields(line).count();
    if (columns != 2) {
      throw InputError(lines_.name(), lines_.place(),
                       "wrong column count: " + std::to_string(columns) + " instead of 2 in " + quote_for_message(line),
                       "give two node ids a line, separated by a tab, a comma or blanks");
    }
    Fields fields(line);
    (void)parse_id(fields, lines_, limit_);
    (void)parse_id(fields, lines_, limit_);
    throw InputError(lines_.name(), lines_.place(), quote_for_message(line) + " is not an edge",
                     "give two node ids a line");
  }

  LineReader lines_;
  std::uint64_t limit_;
};

}  // namespace

std::unique_ptr<EdgeReader> open_text_edges(ByteSource source, std::uint64_t limit) {
  return std::make_unique<TextEdges>(std::move(source), limit);
}

}  // namespace unweave

// storage/formats/tile_file.cpp - writes and reads tiles of columns.
#include "storage/formats/tile_file.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <utility>

#include "storage/io/entry.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr std::uint32_t kTileVersion = 1;
constexpr const char* kTileKind = "tile";
constexpr std::uint64_t kMostTextBytes = std::uint64_t{1} << 20;

constexpr std::uint64_t pair_of(std::uint64_t low, std::uint64_t high) {
  return low | high << 32;
}
constexpr std::uint32_t low_of(std::uint64_t pair) {
  return static_cast<std::uint32_t>(pair);
}
constexpr std::uint32_t high_of(std::uint64_t pair) {
  return static_cast<std::uint32_t>(pair >> 32);
}

/// Where the rows begin, so that chunks hold nothing else.
constexpr std::uint64_t rows_at(std::uint64_t text_bytes) {
  return sealed_chunk_begin(sealed_chunk(text_bytes + kSealedChunkBytes - 1));
}

std::uint64_t padded(std::uint64_t bytes) {
  return (bytes + 7) / 8 * 8;
}

SealedName tile_sealed_name(const std::filesystem::path& folder, const TileShape& shape) {
  return {folder.parent_path(), folder.filename().string(),
          tile_name(shape.level, shape.first_column, shape.columns) + "-" + process_word(), kTileKind, kTileKind};
}

template <class Read>
decltype(auto) with_remedy(const std::filesystem::path& file, const Read& read) {
  try {
    return read();
  } catch (const FormatError& error) {
    throw TileDamage(file, error.fault);
  }
}

/// Who may not write the file reads it through the page cache.
File open_past_cache(const std::filesystem::path& path) {
  try {
    return File::open_direct(path);
  } catch (const Error&) {
    return {};
  }
}

std::string digits(std::uint64_t number, std::size_t width) {
  const std::string text = std::to_string(number);
  return text.size() < width ? std::string(width - text.size(), '0') + text : text;
}

}  // namespace

TileDamage::TileDamage(const std::filesystem::path& tile, const std::string& what)
    : DataError(tile.string() + ": " + what + "; " + operation("propagate") +
                " drops this file, and computes its columns anew"),
      file(tile),
      fault(what) {}

std::string tile_name(std::uint32_t level, std::uint32_t first_column, std::uint32_t columns) {
  return "level-" + digits(level, 4) + "-columns-" + digits(first_column, 10) + "-" +
         digits(std::uint64_t{first_column} + columns - 1, 10) + ".tile";
}

std::optional<TileName> parse_tile_name(std::string_view name) {
  const auto number_after = [&](std::string_view word, std::uint32_t& out) {
    if (!name.starts_with(word)) return false;
    name.remove_prefix(word.size());
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), out);
    if (error != std::errc()) return false;
    name.remove_prefix(static_cast<std::size_t>(end - name.data()));
    return true;
  };
  TileName out;
  std::uint32_t last = 0;
  const std::string_view whole = name;
  if (!number_after("level-", out.level) || !number_after("-columns-", out.first_column) || !number_after("-", last) ||
      last < out.first_column)
    return std::nullopt;
  out.columns = last - out.first_column + 1;
  if (whole != tile_name(out.level, out.first_column, out.columns)) return std::nullopt;
  return out;
}

std::string process_word() {
  static std::atomic<std::uint64_t> calls = 0;
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  std::string word(host.data());
  std::replace_if(
      word.begin(), word.end(), [](char c) { return c == '/' || c == '.'; }, '_');
  return word.substr(0, 64) + "-" + std::to_string(::getpid()) + "-" + std::to_string(calls++);
}

TileImage::TileImage(const std::filesystem::path& folder, const TileShape& shape, std::string_view text,
                     WriteBehind& queue)
    : folder_(folder),
      shape_(shape),
      text_bytes_(text.size()),
      rows_at_(rows_at(text.size())),
      image_(tile_sealed_name(folder, shape), shape.file_bytes(), queue) {
  std::vector<std::byte> head(rows_at_);
  std::copy_n(reinterpret_cast<const std::byte*>(text.data()), text.size(), head.begin());
  image_.put(0, head);
}

void TileImage::put(std::uint32_t block, std::uint64_t rank, std::span<const std::byte> rows) {
  image_.put(rows_at_ + block * shape_.block_bytes() + rank * shape_.row_bytes(), rows);
}

void TileImage::put_wide(NodeId node, const std::int64_t* sums) {
  const std::scoped_lock lock(mutex_);
  wide_[node].assign(sums, sums + shape_.columns);
}

void TileImage::finish(std::span<const std::byte> norms, std::span<const std::byte> proof) {
  std::uint64_t at = rows_at_ + shape_.blocks * shape_.block_bytes();
  const auto append = [&](std::span<const std::byte> bytes) {
    image_.put(at, bytes);
    at += bytes.size();
    const std::array<std::byte, 8> zeros{};
    image_.put(at, std::span(zeros).first(padded(at) - at));
    at = padded(at);
  };
  append({});
  std::vector<NodeId> nodes;
  for (const auto& [node, row] : wide_) nodes.push_back(node);
  append(std::as_bytes(std::span(nodes)));
  for (const auto& [node, row] : wide_) append(std::as_bytes(std::span(row)));
  append(norms);
  append(proof);
  image_.finish(at, {pair_of(shape_.level, kTileVersion), pair_of(shape_.first_column, shape_.columns), shape_.rows,
                     pair_of(shape_.blocks, shape_.value_bytes), wide_.size(), pair_of(text_bytes_, proof.size())});
  wide_.clear();
}

void TileImage::publish() {
  image_.publish_as(folder_ / tile_name(shape_.level, shape_.first_column, shape_.columns));
}

TileFile::TileFile(const std::filesystem::path& path, NodeId nodes)
    : file_(with_remedy(path,
                        [&] {
                          if (!is_file(path)) throw TileDamage(path, "it is not a file");
                          const std::filesystem::path folder = path.parent_path();
                          return SealedFile(folder, sealed_entry(folder, path.filename().string()), kTileKind);
                        })),
      direct_(open_past_cache(path)) {
  with_remedy(path, [&] { read_header(nodes); });
}

void TileFile::read_header(NodeId nodes) {
  const SealedParameters& p = file_.parameters();
  const auto need = [&](bool ok, std::string_view what) {
    if (!ok) file_.fail(0, what);
  };
  if (high_of(p[0]) != kTileVersion)
    file_.fail(0, "tile version " + std::to_string(high_of(p[0])) + ": this program reads version " +
                      std::to_string(kTileVersion));
  shape_ = {low_of(p[0]), low_of(p[1]), high_of(p[1]), p[2], low_of(p[3]), high_of(p[3])};
  wide_ = p[4];
  proof_bytes_ = high_of(p[5]);
  const std::uint64_t text_bytes = low_of(p[5]);
  need(shape_.columns > 0 && shape_.blocks > 0 && shape_.rows <= nodes && wide_ <= shape_.rows &&
           (shape_.value_bytes == 2 || shape_.value_bytes == 4) && text_bytes <= kMostTextBytes,
       "parameters: no tile of this store has these");
  rows_at_ = rows_at(text_bytes);
  // Before numbers are multiplied that may be anything.
  const UInt128 values = UInt128{shape_.rows} * shape_.columns * shape_.blocks * shape_.value_bytes;
  const UInt128 wide_bytes = UInt128{wide_} * (8 + 8 * UInt128{shape_.columns});
  need(values <= file_.size() && wide_bytes <= file_.size() + UInt128{8} &&
           UInt128{shape_.columns} * kTileNormBytes <= file_.size(),
       "parameters: more than the file holds");
  need(norms_at() + shape_.columns * kTileNormBytes + padded(proof_bytes_) == file_.size(),
       "parameters: they do not agree with the file's length");
  const auto text = file_.values<char>(0, text_bytes);
  text_ = {text.data(), text.size()};
  wide_nodes_ = file_.values<NodeId>(wide_nodes_at(), wide_);
  for (std::size_t i = 0; i < wide_nodes_.size(); ++i)
    if (wide_nodes_[i] >= nodes || (i > 0 && wide_nodes_[i] <= wide_nodes_[i - 1]))
      file_.fail(wide_nodes_at() + 4 * i, "wide rows: nodes of the store in ascending order are expected");
}

std::uint64_t TileFile::wide_nodes_at() const noexcept {
  return padded(rows_at_ + shape_.blocks * shape_.block_bytes());
}
std::uint64_t TileFile::wide_rows_at() const noexcept {
  return padded(wide_nodes_at() + 4 * wide_);
}
std::uint64_t TileFile::norms_at() const noexcept {
  return wide_rows_at() + wide_ * 8 * shape_.columns;
}

std::span<const std::byte> TileFile::rows(std::uint32_t block, std::uint64_t first, std::uint64_t count) const {
  return with_remedy(file_.path(), [&] {
    return file_.bytes(rows_at_ + block * shape_.block_bytes() + first * shape_.row_bytes(),
                       count * shape_.row_bytes());
  });
}

std::span<const std::byte> TileFile::rows(std::uint32_t block, std::uint64_t first, std::uint64_t count,
                                          DirectPiece& piece) const {
  if (!direct_.is_open()) return rows(block, first, count);
  return with_remedy(file_.path(), [&] {
    return file_.read_past(direct_, rows_at_ + block * shape_.block_bytes() + first * shape_.row_bytes(),
                           count * shape_.row_bytes(), piece);
  });
}

void TileFile::read_ahead(std::uint64_t first, std::uint64_t count) const noexcept {
  for (std::uint32_t block = 0; block < shape_.blocks; ++block)
    file_.read_ahead(rows_at_ + block * shape_.block_bytes() + first * shape_.row_bytes(), count * shape_.row_bytes());
}

std::span<const std::int64_t> TileFile::wide_row(std::size_t index) const {
  return with_remedy(file_.path(), [&] {
    return file_.values<std::int64_t>(wide_rows_at() + index * 8 * shape_.columns, shape_.columns);
  });
}

std::span<const std::byte> TileFile::norms() const {
  return with_remedy(file_.path(), [&] { return file_.bytes(norms_at(), shape_.columns * kTileNormBytes); });
}

std::span<const std::byte> TileFile::proof() const {
  return with_remedy(file_.path(),
                     [&] { return file_.bytes(norms_at() + shape_.columns * kTileNormBytes, proof_bytes_); });
}

void TileFile::verify() const {
  with_remedy(file_.path(), [&] { file_.check_all(); });
}

void TileFile::fail(std::string_view what) const {
  throw TileDamage(file_.path(), std::string(what));
}

}  // namespace unweave

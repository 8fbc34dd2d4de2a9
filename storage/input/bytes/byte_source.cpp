// storage/input/bytes/byte_source.cpp - opens a user's file, recognises its compression and buffers
// its bytes.
#include "storage/input/bytes/byte_source.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <system_error>

#include "storage/input/bytes/memory_array.h"
#include "storage/input/bytes/raw_bytes.h"
#include "storage/input/tables/column_choice.h"
#include "storage/io/error.h"

namespace unweave {

namespace {

constexpr std::string_view kGzipMagic = "\x1f\x8b";
constexpr std::string_view kZstdMagic = "\x28\xb5\x2f\xfd";
constexpr std::string_view kZipMagic = "PK\x03\x04";
constexpr std::string_view kEmptyZipMagic = "PK\x05\x06";

bool is_compressed_suffix(const std::filesystem::path& suffix) {
  return suffix == ".gz" || suffix == ".zst";
}

void require_suffix_matches(const InputFile& file, const std::filesystem::path& name) {
  const auto suffix = file.path.extension();
  if (is_compressed_suffix(suffix)) {
    throw DataError(
        name.string() + ": named " + suffix.string() +
        " but does not begin as such a file does; fetch the file again, or rename it if it is not compressed");
  }
}

}  // namespace

InputFile named_input(const std::string& text) {
  std::error_code unreadable;
  if (!text.ends_with(']') || std::filesystem::exists(text, unreadable)) return InputFile{text, {}};
  // From the end, since a folder may have brackets in its name; those within quotes are part of a
  // column's name.
  const auto opening = [](std::string_view part) {
    bool quoted = false;
    for (std::size_t at = part.size() - 1; at-- > 0;) {
      quoted ^= part[at] == '"';
      if (part[at] == '[' && !quoted) return at;
    }
    return std::string_view::npos;
  };
  const std::size_t last = opening(text);
  if (last == std::string::npos || last == 0) return InputFile{text, {}};
  InputFile file{text.substr(0, last), {}};
  const std::string inner = text.substr(last + 1, text.size() - last - 2);
  if (file.path.extension() == ".npz") {
    file.member = inner;
    return file;
  }
  file.columns = inner;
  constexpr std::string_view kArchive = ".npz[";
  const std::string before = file.path.string();
  if (const std::size_t at = before.find(kArchive); before.ends_with(']') && at != std::string::npos) {
    const std::size_t member = at + kArchive.size();
    file.path = before.substr(0, member - 1);
    file.member = before.substr(member, before.size() - 1 - member);
  }
  return file;
}

std::filesystem::path display_name(const InputFile& file) {
  if (!file.member.empty()) return file.path.string() + "[" + file.member + "]";
  return file.path == "-" ? "standard input" : file.path;
}

ByteSource::ByteSource(const InputFile& file, std::unique_ptr<RawBytes> bytes)
    : name_(display_name(file)),
      remark_(file.remark),
      header_(file.header),
      header_key_(file.header_key),
      raw_(std::move(bytes)),
      buffer_(kBufferBytes) {}

ByteSource::ByteSource(const InputFile& file) : ByteSource(file, nullptr) {
  const ColumnChoice choice(file.columns);
  InputFile table = file;
  table.columns.clear();
  std::error_code unreadable;
  if (!file.memory && file.member.empty() && std::filesystem::is_directory(file.path, unreadable)) {
    if (choice.by_name()) table.header = Header::yes;  // which each part has
    raw_ = open_folder_bytes(table);
  } else {
    open(file);
  }
  if (!choice.given()) return;
  constexpr std::string_view kArrayMagic = "\x93NUMPY";
  if (peek(kArrayMagic.size()).starts_with(kArrayMagic)) {
    columns_ = file.columns;
    return;
  }
  ByteSource whole(table, nullptr);
  std::swap(whole.raw_, raw_);
  std::swap(whole.buffer_, buffer_);
  std::swap(whole.first_, first_);
  std::swap(whole.last_, last_);
  raw_ = open_chosen_columns(std::move(whole), choice, file.lines_are, file.orders);
  if (choice.by_name()) header_ = Header::no;
}

std::vector<std::string> ByteSource::table_header() const {
  return raw_->table_header();
}

void ByteSource::require_order_of_nodes() const {
  raw_->require_order_of_nodes();
}

void ByteSource::open(const InputFile& file) {
  if (file.memory) {
    raw_ = open_memory_bytes(file.memory);
    reopenable_ = true;
    return;
  }
  if (!file.member.empty()) {
    raw_ = open_zip_bytes(file.path, file.member);
    reopenable_ = true;
    return;
  }
  OpenedFile opened = open_plain_bytes(file.path);
  reopenable_ = opened.regular;
  if (opened.head.starts_with(kGzipMagic)) {
    raw_ = open_gzip_bytes(std::move(opened.bytes), name_);
  } else if (opened.head == kZstdMagic) {
    raw_ = open_zstd_bytes(std::move(opened.bytes), name_, file.charge);
  } else {
    require_suffix_matches(file, name_);
    raw_ = std::move(opened.bytes);
    return;
  }
  if (reopenable_) raw_ = read_ahead(std::move(raw_));
}

std::string ByteSource::header_remedy(const std::string& data, const std::string& no_data) const {
  if (header_key_.empty())
    return "put a line of # alone above it if it is " + data + ", or take it out if it is " + no_data;
  return "say which by " + option("header", header_key_ + "=no") + " (" + data + ") or " +
         option("header", header_key_ + "=yes") + " (" + no_data + ")";
}

std::string ByteSource::place_of_line(std::uint64_t line) const {
  return raw_->place_of_line(line);
}

ByteSource::~ByteSource() = default;
ByteSource::ByteSource(ByteSource&&) noexcept = default;

bool ByteSource::remark(const std::string& sentence) const {
  if (!remark_) return false;
  remark_(name_.string() + ": " + sentence);
  return true;
}

std::string_view ByteSource::peek(std::size_t count) {
  assert(count <= kBufferBytes);
  if (last_ - first_ < count) {
    std::memmove(buffer_.data(), buffer_.data() + first_, last_ - first_);
    last_ -= first_;
    first_ = 0;
    while (last_ < count) {
      const std::size_t got = raw_->read(std::span(buffer_).subspan(last_));
      if (got == 0) break;
      last_ += got;
    }
  }
  return {buffer_.data() + first_, last_ - first_};
}

std::size_t ByteSource::read(std::span<char> out) {
  std::size_t done = std::min(out.size(), last_ - first_);
  std::copy_n(buffer_.begin() + static_cast<std::ptrdiff_t>(first_), done, out.begin());
  first_ += done;
  while (done < out.size()) {
    // Large reads go past the buffer; small ones refill it.
    const std::span<char> rest = out.subspan(done);
    if (rest.size() >= kBufferBytes / 2) {
      const std::size_t got = raw_->read(rest);
      if (got == 0) break;
      done += got;
    } else {
      const std::string_view more = peek(1);
      if (more.empty()) break;
      const std::size_t count = std::min(rest.size(), more.size());
      std::copy_n(more.begin(), count, rest.begin());
      consume(count);
      done += count;
    }
  }
  return done;
}

void ByteSource::skip(std::uint64_t count) {
  const std::uint64_t buffered = std::min<std::uint64_t>(count, last_ - first_);
  first_ += static_cast<std::size_t>(buffered);
  if (count > buffered) raw_->skip(count - buffered);
}

std::filesystem::path uncompressed_extension(const std::filesystem::path& path) {
  return is_compressed_suffix(path.extension()) ? path.stem().extension() : path.extension();
}

bool is_zip(const std::filesystem::path& path) {
  std::error_code unreadable;
  if (path == "-" || !std::filesystem::is_regular_file(path, unreadable)) return false;
  const std::string head = open_plain_bytes(path).head;
  return head == kZipMagic || head == kEmptyZipMagic;
}

std::vector<std::string> npz_members(const std::filesystem::path& path) {
  std::vector<std::string> names = list_zip_members(path);
  for (std::string& name : names) {
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
  }
  return names;
}

}  // namespace unweave

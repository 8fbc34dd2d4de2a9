// storage/input/byte_source.cpp - opens a user's file, recognises its compression and buffers its bytes.
#include "storage/input/byte_source.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <system_error>

#include "storage/input/memory_array.h"
#include "storage/input/raw_bytes.h"
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
  constexpr std::string_view kOpens = ".npz[";
  const std::size_t at = text.ends_with(']') ? text.find(kOpens) : std::string::npos;
  std::error_code unreadable;
  if (at == std::string::npos || std::filesystem::exists(text, unreadable)) return InputFile{text, {}};
  const std::size_t member = at + kOpens.size();
  return InputFile{text.substr(0, member - 1), text.substr(member, text.size() - 1 - member)};
}

std::filesystem::path display_name(const InputFile& file) {
  if (!file.member.empty()) return file.path.string() + "[" + file.member + "]";
  return file.path == "-" ? "standard input" : file.path;
}

ByteSource::ByteSource(const InputFile& file) : name_(display_name(file)), remark_(file.remark), buffer_(kBufferBytes) {
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

// storage/npy/id_writer.cpp - writes ids as an array or as lines.
#include "storage/npy/id_writer.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <ostream>
#include <utility>

#include "storage/io/entry.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr std::size_t kTextBytes = std::size_t{1} << 20;

std::filesystem::path parent_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

}  // namespace

bool takes_text(const NpyTarget& target) {
  return target.stream == nullptr && target.file.extension() == ".txt";
}

TextWriter::TextWriter(const NpyTarget& target) : path_(resolved_parent(target.file)), stream_(target.stream) {
  if (stream_ != nullptr) return;
  require_replaceable(path_);
  const std::filesystem::path temporary =
      parent_of(path_) / ("." + path_.filename().string() + "." + std::to_string(::getpid()) + ".new");
  drop_entry(temporary);
  file_ = File::create(temporary);
}

TextWriter::~TextWriter() {
  if (file_.is_open()) drop_entry(file_.path());
}

void TextWriter::add(std::string_view line) {
  buffer_.append(line).push_back('\n');
  if (buffer_.size() >= kTextBytes) flush();
}

void TextWriter::flush() {
  if (stream_ == nullptr) {
    file_.write_at(written_, std::as_bytes(std::span(buffer_)));
  } else if (!stream_->write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()))) {
    throw ResourceError("cannot write to standard output; is the disk full?");
  }
  written_ += buffer_.size();
  buffer_.clear();
}

void TextWriter::finish() {
  flush();
  if (stream_ != nullptr) return;
  file_.sync();
  rename_entry(file_.path(), path_);
  file_ = File();
  sync_directory(parent_of(path_));
}

IdWriter::IdWriter(const NpyTarget& target, std::uint64_t rows, WriteId write) : write_(std::move(write)) {
  const std::array<std::uint64_t, 1> shape{rows};
  if (takes_text(target))
    text_.emplace(target);
  else
    array_.emplace(target, "<i8", sizeof(std::int64_t), shape);
}

void IdWriter::append(std::span<const std::int64_t> ids) {
  if (array_) return array_->append(ids);
  for (const std::int64_t id : ids) text_->add(write_(static_cast<std::uint64_t>(id)));
}

void IdWriter::finish() {
  array_ ? array_->finish() : text_->finish();
}

}  // namespace unweave

// storage/npy/npy_writer.cpp - writes one NumPy array front to back, so that the file appears whole
// or not at all.
#include "storage/npy/npy_writer.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <ostream>
#include <stdexcept>
#include <string>

#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/npy/npy_header.h"

namespace unweave {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

}  // namespace

NpyWriter::NpyWriter(const NpyTarget& target, std::string_view descr, std::size_t item_bytes,
                     std::span<const std::uint64_t> shape)
    : path_(resolved_parent(target.file)), stream_(target.stream) {
  if (stream_ == nullptr) create_file();
  const std::string header = npy_header(descr, shape);
  wanted_ = item_bytes;
  for (const std::uint64_t length : shape) wanted_ *= length;
  wanted_ += header.size();
  append(std::span<const char>(header));
}

void NpyWriter::create_file() {
  require_replaceable(path_);
  const std::filesystem::path temporary =
      folder_of(path_) / ("." + path_.filename().string() + "." + std::to_string(::getpid()) + ".new");
  drop_entry(temporary);
  file_ = File::create(temporary);
}

NpyWriter::~NpyWriter() {
  if (file_.is_open()) drop_entry(file_.path());
}

void NpyWriter::append_bytes(std::span<const std::byte> bytes) {
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  if (buffer_.size() >= kBufferBytes) flush();
}

void NpyWriter::flush() {
  if (stream_ == nullptr) {
    file_.write_at(written_, buffer_);
  } else if (!stream_->write(reinterpret_cast<const char*>(buffer_.data()),
                             static_cast<std::streamsize>(buffer_.size()))) {
    throw ResourceError("cannot write to standard output; is the disk full?");
  }
  written_ += buffer_.size();
  buffer_.clear();
}

void NpyWriter::finish() {
  flush();
  if (written_ != wanted_) throw std::logic_error(path_.string() + ": another number of elements than was announced");
  if (stream_ != nullptr) return;
  file_.sync();
  rename_entry(file_.path(), path_);
  file_ = File();
  sync_directory(folder_of(path_));
}

}  // namespace unweave

// tests/support/input_files.h - writes users' files for tests: text, .npy, gzip, zstd, zip.
#pragma once

#include <archive.h>
#include <archive_entry.h>
#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace unweave::testing {

inline std::filesystem::path write_file(const std::filesystem::path& path, const std::string& bytes) {
  // Truncating an existing file makes some file systems flush it to disk; a new one is quick. A
  // pipe stays.
  if (std::filesystem::is_regular_file(path)) std::filesystem::remove(path);
  std::ofstream out(path, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!out.flush()) throw std::runtime_error("cannot write " + path.string());
  return path;
}

inline std::string read_all(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Lines without their ends; an unfinished last one is not among them.
inline std::vector<std::string> lines_of(const std::filesystem::path& path) {
  std::vector<std::string> lines;
  std::istringstream in(read_all(path));
  for (std::string line; std::getline(in, line) && !in.eof();) lines.push_back(line);
  return lines;
}

/// Another byte in the middle.
inline void flip_middle(const std::filesystem::path& path) {
  std::string bytes = read_all(path);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  write_file(path, bytes);
}

/// A .npy file (version 1.0) with a header written out by hand; `shape` is Python's text, "(3, 2)".
template <class T>
std::string npy(const std::string& descr, const std::string& shape, const std::vector<T>& values,
                bool fortran_order = false) {
  std::string header = "{'descr': '" + descr + "', 'fortran_order': " + (fortran_order ? "True" : "False") +
                       ", 'shape': " + shape + ", }\n";
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 255);
  bytes += static_cast<char>(header.size() >> 8);
  bytes += header;
  for (const T& value : values) bytes.append(reinterpret_cast<const char*>(&value), sizeof(T));
  return bytes;
}

/// Compressed by libarchive, which shares no code with our readers of gzip and zstd beyond the
/// libraries.
inline std::string compressed(const std::string& bytes, bool gzip) {
  std::vector<char> out(bytes.size() + bytes.size() / 2 + 4096);
  std::size_t used = 0;
  const std::unique_ptr<archive, int (*)(archive*)> writer(archive_write_new(), archive_write_free);
  archive_write_set_format_raw(writer.get());
  gzip ? archive_write_add_filter_gzip(writer.get()) : archive_write_add_filter_zstd(writer.get());
  if (gzip) archive_write_set_filter_option(writer.get(), "gzip", "timestamp", nullptr);
  archive_write_set_bytes_in_last_block(writer.get(), 1);
  archive_write_open_memory(writer.get(), out.data(), out.size(), &used);
  const std::unique_ptr<archive_entry, void (*)(archive_entry*)> entry(archive_entry_new(), archive_entry_free);
  archive_entry_set_pathname(entry.get(), "data");
  archive_entry_set_filetype(entry.get(), AE_IFREG);
  archive_write_header(writer.get(), entry.get());
  archive_write_data(writer.get(), bytes.data(), bytes.size());
  if (archive_write_close(writer.get()) != ARCHIVE_OK) throw std::runtime_error("cannot compress");
  return {out.data(), used};
}
inline std::string gzipped(const std::string& bytes) {
  return compressed(bytes, true);
}
inline std::string zstded(const std::string& bytes) {
  return compressed(bytes, false);
}

/// A zip archive of (name, bytes) members.
inline std::filesystem::path write_zip(const std::filesystem::path& path,
                                       const std::vector<std::pair<std::string, std::string>>& members, bool deflate) {
  const std::unique_ptr<archive, int (*)(archive*)> writer(archive_write_new(), archive_write_free);
  archive_write_set_format_zip(writer.get());
  deflate ? archive_write_zip_set_compression_deflate(writer.get())
          : archive_write_zip_set_compression_store(writer.get());
  archive_write_set_bytes_in_last_block(writer.get(), 1);
  if (archive_write_open_filename(writer.get(), path.c_str()) != ARCHIVE_OK)
    throw std::runtime_error("cannot open zip");
  for (const auto& [name, bytes] : members) {
    const std::unique_ptr<archive_entry, void (*)(archive_entry*)> entry(archive_entry_new(), archive_entry_free);
    archive_entry_set_pathname(entry.get(), name.c_str());
    archive_entry_set_filetype(entry.get(), AE_IFREG);
    archive_entry_set_perm(entry.get(), 0644);
    archive_entry_set_size(entry.get(), static_cast<la_int64_t>(bytes.size()));
    archive_write_header(writer.get(), entry.get());
    archive_write_data(writer.get(), bytes.data(), bytes.size());
  }
  if (archive_write_close(writer.get()) != ARCHIVE_OK) throw std::runtime_error("cannot write zip");
  return path;
}

/// The message of the Error that `action` throws; "" if it throws nothing. Other exceptions pass.
template <class Error, class Action>
std::string message_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/// The message names each of `parts` and is one line.
inline void check_message(const std::string& message, const std::vector<std::string>& parts) {
  CAPTURE(message);
  CHECK(!message.empty());
  CHECK(message.find('\n') == std::string::npos);
  for (const std::string& part : parts) {
    CAPTURE(part);
    CHECK(message.find(part) != std::string::npos);
  }
}

}  // namespace unweave::testing

// storage/npy/named_arrays.cpp - the bytes of .npz and .safetensors files; zip archives through
// libarchive.
#include "storage/npy/named_arrays.h"

#include <archive.h>
#include <archive_entry.h>

#include <array>
#include <bit>
#include <cassert>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/file.h"
#include "storage/io/json_text.h"
#include "storage/npy/npy_header.h"

namespace unweave {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are written as they lie in memory");

template <class T>
NamedArray array_of(std::string name, std::vector<std::uint64_t> shape, std::span<const T> values, bool integers) {
  std::uint64_t elements = 1;
  for (const std::uint64_t extent : shape) elements *= extent;
  assert(elements == values.size());
  static_cast<void>(elements);
  return {std::move(name), integers, std::move(shape),
          std::string(reinterpret_cast<const char*>(values.data()), values.size_bytes())};
}

/// An archive on its way into a string.
class ZipText {
 public:
  explicit ZipText(const std::filesystem::path& file) : file_(file), archive_(archive_write_new(), archive_write_free) {
    require(archive_ != nullptr && archive_write_set_format_zip(archive_.get()) == ARCHIVE_OK &&
            archive_write_zip_set_compression_store(archive_.get()) == ARCHIVE_OK &&
            archive_write_set_bytes_per_block(archive_.get(), 0) == ARCHIVE_OK &&
            archive_write_open(archive_.get(), &text_, nullptr, append, nullptr) == ARCHIVE_OK);
  }

  void add(const std::string& name, const std::string& bytes) {
    const std::unique_ptr<archive_entry, void (*)(archive_entry*)> entry(archive_entry_new(), archive_entry_free);
    require(entry != nullptr);
    archive_entry_set_pathname(entry.get(), name.c_str());
    archive_entry_set_filetype(entry.get(), AE_IFREG);
    archive_entry_set_perm(entry.get(), 0644);
    archive_entry_set_size(entry.get(), static_cast<la_int64_t>(bytes.size()));
    constexpr time_t kFirstDay = 315532800;  // 1 January 1980, where the time of zip archives begins
    archive_entry_set_mtime(entry.get(), kFirstDay, 0);
    require(archive_write_header(archive_.get(), entry.get()) == ARCHIVE_OK);
    for (std::size_t at = 0; at < bytes.size();) {
      const la_ssize_t written = archive_write_data(archive_.get(), bytes.data() + at, bytes.size() - at);
      require(written > 0);
      at += static_cast<std::size_t>(written);
    }
  }
  std::string close() {
    require(archive_write_close(archive_.get()) == ARCHIVE_OK);
    return std::move(text_);
  }

 private:
  static la_ssize_t append(archive* to, void* text, const void* bytes, std::size_t count) noexcept {
    try {
      static_cast<std::string*>(text)->append(static_cast<const char*>(bytes), count);
    } catch (const std::exception&) {
      archive_set_error(to, ENOMEM, "no memory");
      return -1;
    }
    return static_cast<la_ssize_t>(count);
  }
  void require(bool fine) const {
    if (fine) return;
    const char* const reason = archive_ == nullptr ? nullptr : archive_error_string(archive_.get());
    throw ResourceError(file_.string() + ": the archive cannot be written (" +
                        (reason == nullptr ? "no memory" : reason) + ")");
  }

  const std::filesystem::path& file_;
  std::string text_;  // outlives the archive, which may write once more when it goes
  std::unique_ptr<archive, int (*)(archive*)> archive_;
};

}  // namespace

NamedArray named_array(std::string name, std::vector<std::uint64_t> shape, std::span<const double> values) {
  return array_of(std::move(name), std::move(shape), values, false);
}

NamedArray named_array(std::string name, std::vector<std::uint64_t> shape, std::span<const std::int64_t> values) {
  return array_of(std::move(name), std::move(shape), values, true);
}

void write_npz(const std::filesystem::path& file, std::span<const NamedArray> arrays) {
  ZipText zip(file);
  for (const NamedArray& array : arrays)
    zip.add(array.name + ".npy", npy_header(array.integers ? "<i8" : "<f8", array.shape) + array.bytes);
  replace_file(resolved_parent(file), zip.close());
}

void write_safetensors(const std::filesystem::path& file, std::span<const NamedArray> arrays) {
  nlohmann::ordered_json header = {{"__metadata__", {{"format", "pt"}}}};
  std::uint64_t at = 0;
  for (const NamedArray& array : arrays) {
    header[array.name] = {{"dtype", array.integers ? "I64" : "F64"},
                          {"shape", array.shape},
                          {"data_offsets", {at, at + array.bytes.size()}}};
    at += array.bytes.size();
  }
  std::string text = text_of_json(header);
  constexpr std::size_t kAlign = 8;  // that the arrays can be mapped
  text.resize((text.size() + kAlign - 1) / kAlign * kAlign, ' ');
  std::array<char, sizeof(std::uint64_t)> length{};
  const std::uint64_t bytes = text.size();
  std::memcpy(length.data(), &bytes, sizeof bytes);
  std::string all(length.data(), length.size());
  all += text;
  for (const NamedArray& array : arrays) all += array.bytes;
  replace_file(resolved_parent(file), all);
}

}  // namespace unweave

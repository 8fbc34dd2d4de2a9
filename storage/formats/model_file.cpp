// storage/formats/model_file.cpp - writes the file of one model, and checks what it reads.
#include "storage/formats/model_file.h"

#include <cstdint>
#include <cstring>
#include <string_view>

#include "storage/io/checksum.h"
#include "storage/io/error.h"
#include "storage/io/file.h"
#include "storage/io/map_guard.h"
#include "storage/io/private_file.h"

namespace unweave {
namespace {

constexpr std::string_view kModelMagic = "UNWVMODL";
constexpr std::uint32_t kModelVersion = 1;
constexpr std::size_t kHeaderBytes = 48;
constexpr std::size_t kChecksumAt = 32;

struct ModelHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t arrays;
  std::uint64_t text_bytes;
  std::uint64_t file_bytes;
  Checksum128 checksum;  // covers the bytes before it and the bytes after it
};
static_assert(sizeof(ModelHeader) == kHeaderBytes && offsetof(ModelHeader, checksum) == kChecksumAt);

std::uint64_t padded(std::uint64_t bytes) {
  return (bytes + 7) / 8 * 8;
}

Checksum128 checksum_of(const std::string& bytes) {
  const auto all = std::as_bytes(std::span(bytes));
  return checksum128(all.first(kChecksumAt), all.subspan(kHeaderBytes));
}

template <class T>
void append(std::string& bytes, const T* values, std::size_t count) {
  bytes.append(reinterpret_cast<const char*>(values), count * sizeof(T));
}

}  // namespace

void write_model_file(const std::filesystem::path& path, const ModelFile& model) {
  if (model.arrays.size() > kMostModelArrays) throw UsageError("a model has too many arrays");
  ModelHeader header{};
  std::memcpy(header.magic, kModelMagic.data(), kModelMagic.size());
  header.version = kModelVersion;
  header.arrays = static_cast<std::uint32_t>(model.arrays.size());
  header.text_bytes = model.text.size();
  header.file_bytes = kHeaderBytes + 8 * model.arrays.size() + padded(model.text.size());
  for (const auto& array : model.arrays) header.file_bytes += array.size() * sizeof(double);

  std::string bytes;
  bytes.reserve(header.file_bytes);
  append(bytes, &header, 1);
  for (const auto& array : model.arrays) {
    const std::uint64_t length = array.size();
    append(bytes, &length, 1);
  }
  bytes += model.text;
  bytes.resize(kHeaderBytes + 8 * model.arrays.size() + padded(model.text.size()), '\0');
  for (const auto& array : model.arrays) append(bytes, array.data(), array.size());

  const Checksum128 checksum = checksum_of(bytes);
  std::memcpy(bytes.data() + kChecksumAt, checksum.data(), checksum.size());
  make_folders(path.parent_path());
  require_whole_files();
  replace_file(path, bytes, kOwnerAlone);
}

ModelFile read_model_file(const std::filesystem::path& path) {
  const File file = File::open_stored(path);
  const std::uint64_t size = file.size();
  ModelHeader header;
  file.read_at(0, std::as_writable_bytes(std::span(&header, 1)));
  if (std::string_view(header.magic, sizeof(header.magic)) != kModelMagic)
    throw FormatError(path, "byte 0, magic", "this is no model");
  if (header.version != kModelVersion)
    throw FormatError(
        path, "byte 8, version",
        std::to_string(header.version) + " is not the version " + std::to_string(kModelVersion) + " of this program");
  if (header.arrays > kMostModelArrays) throw FormatError(path, "byte 12, arrays", "there are too many");
  if (header.file_bytes != size)
    throw FormatError(
        path, "byte 24, length",
        "the header says " + std::to_string(header.file_bytes) + " bytes, the file has " + std::to_string(size));
  // Lengths are compared with what is left, so that no sum can overflow.
  std::uint64_t left = size - kHeaderBytes;
  const std::uint64_t lengths_bytes = 8 * std::uint64_t{header.arrays};
  if (lengths_bytes > left) throw FormatError(path, "byte 12, arrays", "their lengths do not fit in the file");
  left -= lengths_bytes;
  if (header.text_bytes > left || padded(header.text_bytes) > left)
    throw FormatError(path, "byte 16, text length", "the text does not fit in the file");
  left -= padded(header.text_bytes);

  std::string bytes(size, '\0');
  file.read_at(0, std::as_writable_bytes(std::span(bytes)));
  if (checksum_of(bytes) != header.checksum)
    throw FormatError(path, "byte 32, checksum", "the content does not match it");
  std::size_t at = kHeaderBytes;
  std::vector<std::uint64_t> lengths(header.arrays);
  if (lengths_bytes > 0) std::memcpy(lengths.data(), bytes.data() + at, lengths_bytes);
  at += lengths_bytes;
  ModelFile model;
  model.text = bytes.substr(at, header.text_bytes);
  at += padded(header.text_bytes);
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] > left / sizeof(double))
      throw FormatError(path, "byte " + std::to_string(kHeaderBytes + 8 * i) + ", length of array " + std::to_string(i),
                        "the array does not fit in the file");
    auto& array = model.arrays.emplace_back(lengths[i]);
    if (!array.empty()) std::memcpy(array.data(), bytes.data() + at, lengths[i] * sizeof(double));
    at += lengths[i] * sizeof(double);
    left -= lengths[i] * sizeof(double);
  }
  if (left != 0) throw FormatError(path, "byte " + std::to_string(at), "there is more than the arrays");
  return model;
}

}  // namespace unweave

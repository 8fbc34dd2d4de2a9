// tests/support/hostile/forgery.cpp - changes under checksums that are right again.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "storage/formats/model_file.h"
#include "storage/formats/sealed_file.h"
#include "storage/io/checksum.h"
#include "storage/io/hex.h"
#include "support/hostile/corruption.h"
#include "support/input_files.h"
#include "support/sealed_line.h"
#include "support/temp_dir.h"

namespace unweave::testing {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using Random = std::mt19937_64;

std::span<const std::byte> raw(const std::string& bytes, std::size_t from, std::size_t count) {
  return std::as_bytes(std::span(bytes)).subspan(from, count);
}

template <class T>
T get(const std::string& bytes, std::size_t at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

template <class T>
void put(std::string& bytes, std::size_t at, const T& value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

std::uint64_t absurd_integer(Random& random) {
  const std::uint64_t near = random() % 5 - 2;
  switch (random() % 5) {
    case 0:
      return near;
    case 1:
      return (std::uint64_t{1} << random() % 64) + near;
    case 2:
      return random();
    case 3:
      return random() % 300;
    default:
      return ~std::uint64_t{0} - random() % 3;
  }
}

double absurd_real(Random& random) {
  constexpr double kOdd[] = {0,      -0.0,   1,    -1,     0.5,   1e-300, 1e300, -1e300, 4294967296.0,
                             0x1p53, 0x1p63, 1e19, 5e-324, -3.75, 2,      3};
  const std::size_t which = random() % (std::size(kOdd) + 3);
  if (which < std::size(kOdd)) return kOdd[which];
  if (which == std::size(kOdd)) return std::numeric_limits<double>::quiet_NaN();
  if (which == std::size(kOdd) + 1) return std::numeric_limits<double>::infinity();
  double any = 0;
  const std::uint64_t bits = random();
  std::memcpy(&any, &bits, sizeof any);
  return any;
}

/// One of the values below this one, or itself.
Json& any_value(Json& json, Random& random) {
  Json* at = &json;
  while (at->is_structured() && !at->empty() && random() % 16 != 0)
    at = &*std::next(at->begin(), static_cast<std::ptrdiff_t>(random() % at->size()));
  return *at;
}

void change_json(Json& json, Random& random, std::string& what) {
  Json& value = any_value(json, random);
  what += "JSON " + value.dump().substr(0, 40);
  switch (random() % 12) {
    case 0:
      value = nullptr;
      break;
    case 1:
      value = "../x";
      break;
    case 2:
      value = Json::array();
      break;
    case 3:
      value = Json::object();
      break;
    case 4:
      value = random() % 2 == 0;
      break;
    case 5:
      value = -static_cast<std::int64_t>(random() % 1000);
      break;
    case 6:
      if (value.is_structured() && !value.empty()) {
        if (value.is_object())
          value.erase(std::next(value.begin(), static_cast<std::ptrdiff_t>(random() % value.size())).key());
        else
          value.erase(random() % value.size());
        break;
      }
      [[fallthrough]];
    case 7:
      if (value.is_array() && !value.empty()) {
        value.push_back(value[random() % value.size()]);
        break;
      }
      [[fallthrough]];
    case 8: {
      const double real = absurd_real(random);
      value = std::isfinite(real) ? Json(real) : Json("NaN");
      break;
    }
    case 9:
      value = any_value(json, random);
      break;
    default:
      value = absurd_integer(random);
  }
  what += " became " + value.dump().substr(0, 40);
}

/// A number of the payload or a few of its bytes.
void change_bytes(std::string& bytes, std::size_t from, std::size_t to, Random& random, std::string& what) {
  if (from >= to) return;
  for (std::size_t i = 0, most = 1 + random() % 3; i < most; ++i) {
    const std::size_t at = from + random() % (to - from);
    what += "byte " + std::to_string(at) + " ";
    const std::size_t here = from + (at - from) / 8 * 8;
    if (random() % 4 == 0 && here + 8 <= to)
      put(bytes, here, random() % 2 == 0 ? absurd_integer(random) : std::bit_cast<std::uint64_t>(absurd_real(random)));
    else if (random() % 3 == 0 && here + 4 <= to)
      put(bytes, here, static_cast<std::uint32_t>(absurd_integer(random)));
    else
      bytes[at] = static_cast<char>(random());
  }
}

constexpr std::size_t kPayloadLengthAt = 24, kParametersAt = 32, kRootAt = 104, kHeaderSumAt = 120;

/// Sums of chunks, root and header as a writer would make them; the table is where the declared
/// length wants it, if it fits.
void reseal(std::string& bytes) {
  const auto payload = get<std::uint64_t>(bytes, kPayloadLengthAt);
  if (payload <= bytes.size()) {
    bytes.resize(std::max<std::size_t>(sealed_file_bytes(payload), kSealedHeaderBytes));
    const std::size_t table = sealed_table_offset(payload);
    for (std::uint64_t chunk = 0; chunk < sealed_chunks(payload); ++chunk) {
      const std::uint64_t first = sealed_chunk_begin(chunk);
      const std::uint64_t length = std::min<std::uint64_t>(payload, sealed_chunk_begin(chunk + 1)) - first;
      put(bytes, table + 8 * chunk, checksum64(raw(bytes, kSealedHeaderBytes + first, length)));
    }
    put(bytes, kRootAt, checksum128(raw(bytes, 0, kRootAt), raw(bytes, table, 8 * sealed_chunks(payload))));
  }
  put(bytes, kHeaderSumAt, checksum64(raw(bytes, 0, kHeaderSumAt)));
}

std::string manifest_with(Json json) {
  const std::string body = json["contents"].dump();
  json["checksum"] = to_hex(checksum128(std::as_bytes(std::span(body)), {}));
  return json.dump(1) + "\n";
}

/// The entry of a file anywhere in the manifest.
Json* entry_of(Json& json, const std::string& path) {
  if (json.is_object() && json.contains("path") && json["path"] == path) return &json;
  if (!json.is_structured()) return nullptr;
  for (Json& item : json)
    if (Json* found = entry_of(item, path)) return found;
  return nullptr;
}

Corruption forge_sealed(const FullStore& store, const std::string& path, Random& random) {
  std::string bytes = store.files.at(path);
  std::string what;
  const auto payload = get<std::uint64_t>(bytes, kPayloadLengthAt);
  switch (random() % 9) {
    case 6:
    case 7:
    case 8:  // every number in range, and one of them there twice, or two of them exchanged
      if (payload >= 2 * sizeof(std::uint32_t)) {
        const std::size_t numbers = payload / sizeof(std::uint32_t);
        const auto place = [&] { return kSealedHeaderBytes + sizeof(std::uint32_t) * (random() % numbers); };
        const std::size_t from = place(), to = place();
        const auto one = get<std::uint32_t>(bytes, from), other = get<std::uint32_t>(bytes, to);
        what = "number at " + std::to_string(to) + " is that at " + std::to_string(from);
        put(bytes, to, one);
        if (random() % 3 == 0) put(bytes, from, other);
        break;
      }
      [[fallthrough]];
    case 0:
      what = "kind, version or payload length ";
      change_bytes(bytes, 8, kParametersAt, random, what);
      break;
    case 1:
    case 2: {
      const std::size_t which = random() % 6;
      what = "parameter " + std::to_string(which);
      put(bytes, kParametersAt + 8 * which, absurd_integer(random));
      break;
    }
    case 3: {  // a shorter or longer payload of the same kind
      const std::uint64_t length = random() % (payload + 64);
      what = "payload of " + std::to_string(length) + " bytes";
      std::string content = bytes.substr(kSealedHeaderBytes, std::min(length, payload));
      content.resize(length);
      bytes.resize(kSealedHeaderBytes);
      bytes += content;
      put(bytes, kPayloadLengthAt, length);
      break;
    }
    default:
      what = "payload ";
      change_bytes(bytes, kSealedHeaderBytes, kSealedHeaderBytes + payload, random, what);
  }
  reseal(bytes);
  Json manifest = Json::parse(store.files.at("manifest.json"));
  if (Json* entry = entry_of(manifest, path)) {
    (*entry)["bytes"] = bytes.size();
    (*entry)["root"] = to_hex(raw(bytes, kRootAt, 16));
  }
  return {path + ": forged " + what, path, {{path, bytes}, {"manifest.json", manifest_with(manifest)}}, {}, true};
}

Corruption forge_manifest(const FullStore& store, Random& random) {
  Json manifest = Json::parse(store.files.at("manifest.json"));
  std::string what;
  for (std::size_t i = 0, most = 1 + random() % 2; i < most; ++i) change_json(manifest["contents"], random, what);
  return {"manifest.json: forged " + what, "manifest.json", {{"manifest.json", manifest_with(manifest)}}, {}, true};
}

Checksum128 sum_of_model(const std::string& bytes) {
  return checksum128(raw(bytes, 0, 32), raw(bytes, 48, bytes.size() - 48));
}

/// What a model file with this text and these arrays looks like.
std::string model_bytes(const ModelFile& model) {
  const TempDir dir;
  write_model_file(dir / "m", model);
  return read_all(dir / "m");
}

ModelFile parsed_model(const std::string& bytes) {
  const TempDir dir;
  std::ofstream(dir / "m", std::ios::binary) << bytes;
  return read_model_file(dir / "m");
}

Corruption forge_model(const FullStore& store, const std::string& path, Random& random) {
  std::string bytes = store.files.at(path);
  std::string what;
  if (random() % 8 == 0) {
    what = "header ";
    change_bytes(bytes, 8, std::min<std::size_t>(bytes.size(), 80), random, what);
    if (random() % 4 != 0) put(bytes, 24, static_cast<std::uint64_t>(bytes.size()));
    put(bytes, 32, sum_of_model(bytes));
    return {path + ": forged " + what, path, {{path, bytes}}, {}, true};
  }
  ModelFile model = parsed_model(bytes);
  const std::size_t arrays = model.arrays.size();
  if (random() % 2 == 0) {
    Json json = Json::parse(model.text);
    change_json(json, random, what);
    model.text = json.dump();
  } else {
    auto& array = model.arrays[random() % arrays];
    what = "an array of " + std::to_string(array.size());
    switch (random() % 4) {
      case 0:
        array.resize(random() % (array.size() + 4));
        break;
      case 1:
        std::swap(array, model.arrays[random() % arrays]);
        break;
      default:
        if (!array.empty()) array[random() % array.size()] = absurd_real(random);
    }
  }
  return {path + ": forged " + what, path, {{path, model_bytes(model)}}, {}, true};
}

Corruption forge_journal(const FullStore& store, const std::string& path, Random& random) {
  constexpr std::size_t kHeader = 40, kRecordHeader = 24;
  std::string bytes = store.files.at(path);
  std::string what = "journal ";
  std::vector<std::size_t> records;
  for (std::size_t at = kHeader; at + kRecordHeader <= bytes.size();
       at += kRecordHeader + get<std::uint64_t>(bytes, at))
    records.push_back(at);
  if (records.empty() || random() % 6 == 0) {
    change_bytes(bytes, 16, 32, random, what);
    const std::string sealed = bytes.substr(0, 32) + fs::path(path).filename().string();
    put(bytes, 32, checksum64(raw(sealed, 0, sealed.size())));
  } else {
    const std::size_t at = records[random() % records.size()];
    const auto payload = get<std::uint64_t>(bytes, at);
    if (random() % 3 == 0)
      change_bytes(bytes, at, at + 16, random, what);
    else
      change_bytes(bytes, at + kRecordHeader, at + kRecordHeader + payload, random, what);
    const Checksum128 sum = checksum128(raw(bytes, at, 16), raw(bytes, at + kRecordHeader, payload));
    std::memcpy(bytes.data() + at + 16, sum.data(), 8);
  }
  return {path + ": forged " + what, path, {{path, bytes}}, {}, true};
}

Corruption forge_statistics(const FullStore& store, const std::string& path, Random& random) {
  std::string bytes = store.files.at(path);
  std::string what = "statistics ";
  const auto records = get<std::uint64_t>(bytes, 32);
  if (random() % 4 == 0 || records == 0) {
    change_bytes(bytes, 8, 56, random, what);
    put(bytes, 56, checksum64(raw(bytes, 0, 56)));
  } else {
    const std::size_t each = (bytes.size() - 64) / records, at = 64 + random() % records * each;
    change_bytes(bytes, at + 8, at + each, random, what);
    put(bytes, at, checksum64(raw(bytes, at + 8, each - 8)));
  }
  return {path + ": forged " + what, path, {{path, bytes}}, {}, true};
}

/// The last certificate, in its log and in the model.
Corruption forge_certificate(const FullStore& store, const std::string& path, Random& random) {
  std::string log = store.files.at(path);
  const std::size_t last = log.rfind('\n', log.size() - 2) + 1;  // npos + 1 is 0
  const std::string old = log.substr(last, log.size() - 1 - last);
  const bool is_public = !path.ends_with(".private.jsonl");
  Json json = Json::parse(old);
  if (is_public)
    for (const char* made : {"public_key", "digest", "signature"}) json.erase(made);
  std::string what = "certificate ";
  change_json(json, random, what);
  std::string text = json.dump();
  if (is_public && json.is_object() && !json.empty()) {
    const TempDir dir;
    write_file(dir / "key", store.files.at("certificates/signing-key"));
    text = sealed_line(text, SigningKey::read(dir / "key"));
  }
  Corruption one{path + ": forged " + what, path, {{path, log.substr(0, last) + text + "\n"}}, {}, true};
  const std::string file_name = fs::path(path).filename().string();
  const std::string model = "models/" + file_name.substr(0, file_name.find('.')) + ".model";
  if (store.files.contains(model) && random() % 2 == 0) {
    ModelFile file = parsed_model(store.files.at(model));
    Json record = Json::parse(file.text);
    record[is_public ? "certificate" : "private_part"] = text;
    file.text = record.dump();
    one.files[model] = model_bytes(file);
  }
  return one;
}

/// Kinds of files have equal chances, however many files there are of one.
const Files::value_type& any_kind(const Files& files, Random& random) {
  std::map<std::string, std::vector<const Files::value_type*>> kinds;
  for (const auto& one : files)
    kinds[fs::path(one.first).parent_path() / fs::path(one.first).extension()].push_back(&one);
  const auto& all = std::next(kinds.begin(), static_cast<std::ptrdiff_t>(random() % kinds.size()))->second;
  return *all[random() % all.size()];
}

Corruption forge_any(const FullStore& store, Random& random) {
  while (true) {
    const auto& [path, bytes] = any_kind(store.files, random);
    if (path == "manifest.json") return forge_manifest(store, random);
    if (bytes.starts_with(std::string("UNWEAVE\0j", 9))) return forge_journal(store, path, random);
    if (bytes.starts_with(std::string("UNWEAVE\0", 8))) return forge_sealed(store, path, random);
    if (bytes.starts_with("UNWVMODL")) return forge_model(store, path, random);
    if (bytes.starts_with("UNWVSTAT")) return forge_statistics(store, path, random);
    if (path.starts_with("certificates/") && path.ends_with(".jsonl")) return forge_certificate(store, path, random);
    if (random() % 4 == 0) return forge_manifest(store, random);
  }
}

/// What the manifest has recorded of these files becomes right.
void record(const FullStore& store, Corruption& one) {
  Json manifest = Json::parse(store.files.at("manifest.json"));
  for (const auto& [path, bytes] : one.files) {
    Json* const entry = entry_of(manifest, path);
    if (entry == nullptr) continue;
    (*entry)["bytes"] = bytes->size();
    (*entry)["root"] = to_hex(checksum128(raw(*bytes, 0, bytes->size()), {}));
  }
  one.files["manifest.json"] = manifest_with(manifest);
}

}  // namespace

Corruption forgery(const FullStore& store, std::uint64_t seed) {
  Random random(seed);
  Corruption one = forge_any(store, random);
  if (!one.files.contains("manifest.json")) record(store, one);
  return one;
}

}  // namespace unweave::testing

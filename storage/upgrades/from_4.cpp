// storage/upgrades/from_4.cpp - reads what version 4 wrote otherwise than version 5 does.
#include "storage/upgrades/from_4.h"

#include <array>
#include <cmath>
#include <cstring>
#include <span>
#include <stdexcept>
#include <vector>

#include "storage/io/checksum.h"
#include "storage/io/error.h"
#include "storage/io/file.h"

namespace unweave::from_4 {
namespace {

struct Header {
  char magic[16];
  std::uint64_t version;
  std::uint64_t sequence;
  std::uint64_t checksum;  // covers the fields above
};

struct Record {
  std::uint64_t payload_bytes;
  std::uint64_t sequence;
  std::uint64_t checksum;  // covers the two fields above and the payload
};

struct Payload {
  double r_max;
  std::uint64_t scale;
};

struct Packed {
  std::uint64_t kind;
  std::uint64_t u;
  std::uint64_t v;
};

constexpr char kMagic[17] = "UNWEAVE\0journal ";

template <class T>
T taken(std::span<const std::byte> bytes, std::size_t at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

}  // namespace

nlohmann::ordered_json next_contents(nlohmann::ordered_json contents, std::string& journal) {
  journal = contents.at("journal").get<std::string>();
  if (journal.find('/') != std::string::npos) throw std::runtime_error("journal: not a plain file name");
  contents.at("journal") = nullptr;
  contents["releases"] = nlohmann::ordered_json::array();
  // Whether the last batch had a threshold was not written down. Who says so of one that had none claims too little.
  if (!contents.at("propagation").is_null() && contents.at("sequence") != 0) contents["lazy"] = true;
  return contents;
}

void read_journal(const std::filesystem::path& path, std::uint64_t sequence,
                  const std::function<void(const JournalBatch&)>& use) {
  const File file = File::open_stored(path);
  const std::uint64_t size = file.size();
  const auto read = [&](std::uint64_t at, std::uint64_t bytes) {
    std::vector<std::byte> data(bytes);
    file.read_at(at, data);
    return data;
  };
  const auto fail = [&](std::uint64_t at, const std::string& what) {
    throw FormatError(path, "byte " + std::to_string(at), what);
  };
  if (size < sizeof(Header)) fail(size, "the journal's header is cut short");
  const std::vector<std::byte> head = read(0, sizeof(Header));
  const Header header = taken<Header>(head, 0);
  if (std::memcmp(header.magic, kMagic, sizeof header.magic) != 0 || header.version != 1 ||
      header.checksum != checksum64(std::span(head).first(32)) || header.sequence != sequence)
    fail(0, "not the journal of this store, of version 1");
  for (std::uint64_t at = sizeof(Header); at < size;) {
    const std::string tail =
        "a record is damaged, or a crash cut it short; the unweave that wrote the store cuts off the latter when it "
        "next "
        "writes it";
    if (size - at < sizeof(Record)) fail(at, tail);
    const std::vector<std::byte> begin = read(at, sizeof(Record));
    const Record record = taken<Record>(begin, 0);
    const std::uint64_t requests = record.sequence - sequence;
    if (record.sequence < sequence || record.payload_bytes > size - at - sizeof(Record) ||
        requests > record.payload_bytes / sizeof(Packed) ||
        record.payload_bytes != sizeof(Payload) + requests * sizeof(Packed))
      fail(at, tail);
    const std::vector<std::byte> payload = read(at + sizeof(Record), record.payload_bytes);
    const Checksum128 sum = checksum128(std::span(begin).first(16), payload);
    if (std::memcmp(sum.data(), &record.checksum, sizeof record.checksum) != 0) fail(at, tail);
    const auto mode = taken<Payload>(payload, 0);
    if (mode.scale > 2 || !(mode.r_max >= 0) || !std::isfinite(mode.r_max)) fail(at, "a threshold that there is not");
    JournalBatch batch{mode.r_max, static_cast<ThresholdScale>(mode.scale), {}};
    for (std::size_t i = sizeof(Payload); i < payload.size(); i += sizeof(Packed)) {
      const auto packed = taken<Packed>(payload, i);
      if (packed.kind < 1 || packed.kind > 4) fail(at, "a request of a kind that there is not");
      batch.requests.push_back({static_cast<RequestKind>(packed.kind), packed.u, packed.v});
    }
    use(batch);
    sequence = record.sequence;
    at += sizeof(Record) + record.payload_bytes;
  }
}

}  // namespace unweave::from_4

// storage/formats/expiry_file.cpp - writes the expiries of edges, and reads and checks them.
#include "storage/formats/expiry_file.h"

#include <string>

#include "storage/io/private_file.h"

namespace unweave {
namespace {

static_assert(sizeof(EdgeExpiry) == 16);

}  // namespace

FileEntry write_expiries(const std::filesystem::path& store, std::span<const EdgeExpiry> expiries) {
  SealedWriter writer({store, "graph", "expiries", "expiries", "expiries"});
  writer.append_values(expiries);
  FileEntry entry = writer.finish({expiries.size()});
  make_private(File::open_read(store / entry.path));  // what a person has agreed to until when
  return entry;
}

std::vector<EdgeExpiry> read_expiries(const std::filesystem::path& store, const FileEntry& entry, NodeId nodes) {
  const SealedFile file(store, entry, "expiries");
  if (file.size() != file.parameters()[0] * sizeof(EdgeExpiry))
    file.fail(file.size(), "another number of edges than its header says");
  const auto values = file.values<EdgeExpiry>(0, file.parameters()[0]);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto& [edge, time] = values[i];
    if (edge.u >= edge.v || edge.v >= nodes || (i > 0 && edge <= values[i - 1].edge))
      file.fail(i * sizeof(EdgeExpiry), "edges out of range or out of order");
    if (time < 0) file.fail(i * sizeof(EdgeExpiry), "a moment before 1970");
  }
  return {values.begin(), values.end()};
}

std::uint64_t count_expiries(const FileEntry& entry) noexcept {
  return entry.bytes / sizeof(EdgeExpiry);
}

}  // namespace unweave

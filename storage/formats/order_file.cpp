// storage/formats/order_file.cpp - writes the order of the nodes, and reads and checks it.
#include "storage/formats/order_file.h"

#include <cstring>
#include <string>
#include <vector>

namespace unweave {

FileEntry write_order(const std::filesystem::path& store, std::span<const NodeId> positions) {
  std::vector<NodeId> users(positions.size());
  for (std::size_t user = 0; user < positions.size(); ++user) users[positions[user]] = static_cast<NodeId>(user);
  SealedWriter writer({store, "graph", "order", "order", "order"});
  writer.append_values(positions);
  writer.append_values(std::span<const NodeId>(users));
  return writer.finish({positions.size()});
}

OrderFile::OrderFile(const std::filesystem::path& store, const FileEntry& entry, NodeId nodes)
    : file_(store, entry, "order"), nodes_(nodes) {
  if (file_.size() != 2 * sizeof(NodeId) * std::uint64_t{nodes} || file_.parameters()[0] != nodes)
    file_.fail(file_.size(), "not two ids a node");
}

NodeId OrderFile::at(std::uint64_t index) const {
  const std::uint64_t offset = index * sizeof(NodeId);
  file_.check(offset, sizeof(NodeId));
  NodeId id = 0;
  std::memcpy(&id, file_.data() + offset, sizeof id);
  if (id >= nodes_) file_.fail(offset, "an id that is not below the number of nodes");
  return id;
}

void OrderFile::verify() const {
  file_.check_all();
  for (NodeId id = 0; id < nodes_; ++id)
    if (user(position(id)) != id)
      file_.fail(std::uint64_t{id} * sizeof(NodeId),
                 "the position of id " + std::to_string(id) + " is that of another");
}

}  // namespace unweave

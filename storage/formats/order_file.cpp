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
  // The other half leads back, so that no two ids that anybody has seen have one position, nor two
  // positions one id: rows that come twice would overwrite others.
  const bool is_position = index < nodes_;
  const std::uint64_t back = (is_position ? std::uint64_t{nodes_} + id : std::uint64_t{id}) * sizeof(NodeId);
  file_.check(back, sizeof(NodeId));
  NodeId again = 0;
  std::memcpy(&again, file_.data() + back, sizeof again);
  if (again != (is_position ? index : index - nodes_))
    file_.fail(offset, is_position ? "the position of id " + std::to_string(index) + " is that of another"
                                   : "the id at position " + std::to_string(index - nodes_) + " stands elsewhere");
  return id;
}

void OrderFile::verify() const {
  file_.check_all();
  for (NodeId id = 0; id < nodes_; ++id) static_cast<void>(position(id));  // each leads back: a permutation
}

}  // namespace unweave

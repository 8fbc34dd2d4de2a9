// engine/ingest/label_import.h - the labels, classes and splits of an import.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/ingest/import_context.h"
#include "engine/resources/memory.h"
#include "storage/input/bytes/byte_source.h"
#include "storage/input/words/node_id.h"
#include "storage/io/types.h"

namespace unweave {

/// Files of labels and splits, and where the manifest names them in the store.
struct LabelFiles {
  const std::optional<InputFile>&labels, &train, &valid, &test;
  std::optional<FileEntry>&labels_entry, &train_entry, &valid_entry, &test_entry;
  bool are_of_graphs = false;  ///< whole graphs have them, not nodes
};

/// Takes labels and splits from their files to the store. Without a file of labels it sets the
/// number of classes, where that is declared.
class LabelImport {
 public:
  /// `count`: of the nodes or graphs. `replayed`: sorted ids of nodes that get a class of their
  /// own, the last. `read_id`: what the words of a split mean; empty where ids are numbers.
  LabelImport(const ImportContext& context, const LabelFiles& files, NodeCount& count,
              const std::vector<NodeId>& replayed, const ReadId& read_id);

  /// Reads them all, charges the labels, and sets the number of classes. Throws UsageError for a
  /// number of classes that cannot be, InputError and DataError for files, ResourceError.
  void read();
  /// Writes what read() has read, and frees it. `positions`: that of each id; empty where it equals
  /// the id.
  void write(std::span<const NodeId> positions);
  /// Ids of splits that read() has left out, since their nodes have no label.
  [[nodiscard]] std::uint64_t unlabelled_split_ids() const noexcept { return unlabelled_split_ids_; }

 private:
  struct Split {
    const char* name;
    const std::optional<InputFile>& file;
    std::optional<FileEntry>& entry;
    std::vector<NodeId> ids{};
    Reservation memory{};  ///< what `ids` takes of the budget
  };

  [[nodiscard]] std::vector<std::int32_t> read_labels();
  void place_in_type();
  void repeat_for_copies();
  /// "node" or "graph".
  [[nodiscard]] const char* thing() const noexcept { return from_.are_of_graphs ? "graph" : "node"; }
  [[nodiscard]] std::string things() const { return std::string(thing()) + "s"; }
  void require_class_names();
  void drop_header(std::vector<std::int32_t>& labels);
  void remark_on_classes();
  void remark_on_minus_ones(const std::string& name);
  void add_replay_class();
  void read_splits();
  void require_disjoint(const Split& earlier, const Split& later) const;

  const ImportOptions& options_;
  MemoryBudget& budget_;
  WorkMeter& meter_;
  LabelFiles from_;
  NodeCount& nodes_;
  StoreBuilder& builder_;
  ImportReport& report_;
  const NodeNames* names_;  ///< or null
  const std::vector<NodeId>& replayed_;
  const ReadId& read_id_;
  NodeCount rows_of_type_;
  NodeCount& rows_;  ///< what the file of labels has: of one type of nodes, or of all
  std::vector<std::int32_t> labels_;
  std::vector<std::string> class_names_;  ///< one a class; empty where they have numbers alone
  Reservation memory_of_labels_;
  Split splits_[3] = {{"train", from_.train, from_.train_entry},
                      {"valid", from_.valid, from_.valid_entry},
                      {"test", from_.test, from_.test_entry}};
  std::uint64_t unlabelled_split_ids_ = 0;
  std::uint64_t minus_ones_ = 0;  ///< labels that were written as -1
};

}  // namespace unweave

// tests/support/faults/disk.cpp - files as lists of unsynced writes over durable bytes, folders as
// lists of unsynced names.
#include "support/faults/disk.h"

#include <algorithm>
#include <cassert>
#include <fstream>
#include <random>
#include <stdexcept>

#include "support/input_files.h"

namespace unweave::testing {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kSector = 512;

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

/// Decides about one thing after another.
class Chooser {
 public:
  Chooser(Survival survival, std::uint64_t seed) : survival_(survival), random_(seed) {
    share_ = static_cast<double>(1 + random_() % 7) / 8;
    ordered_ = random_() % 2 == 0;
    grows_ = random_() % 2 == 0;
  }
  bool keeps_name() {
    if (survival_ == Survival::chance && ordered_) {
      cut_ |= coin(0.25);
      return !cut_;
    }
    return keeps(Survival::names);
  }
  bool keeps_bytes() { return keeps(Survival::bytes); }
  [[nodiscard]] bool grows() const { return survival_ == Survival::chance && grows_; }

 private:
  bool coin(double share) { return std::uniform_real_distribution<>()(random_) < share; }
  bool keeps(Survival kind) {
    if (survival_ == Survival::chance) return coin(share_);
    return survival_ == Survival::everything || survival_ == kind;
  }

  Survival survival_;
  std::mt19937_64 random_;
  double share_ = 0;
  bool ordered_ = false, grows_ = false, cut_ = false;
};

void put(std::string& content, std::uint64_t offset, std::string_view bytes) {
  if (content.size() < offset + bytes.size()) content.resize(offset + bytes.size(), '\0');
  std::copy(bytes.begin(), bytes.end(), content.begin() + static_cast<std::ptrdiff_t>(offset));
}

}  // namespace

Tree read_tree(const fs::path& folder) {
  Tree tree;
  for (const auto& item : fs::recursive_directory_iterator(folder)) {
    const std::string path = item.path().lexically_relative(folder).string();
    if (item.is_directory())
      tree[path + "/"];
    else
      tree[path] = read_all(item.path());
  }
  return tree;
}

void write_tree(const Tree& tree, const fs::path& folder) {
  fs::remove_all(folder);
  fs::create_directories(folder);
  for (const auto& [path, bytes] : tree) {  // folders come before what lies in them
    if (path.ends_with('/'))
      fs::create_directory(folder / path);
    else
      std::ofstream(folder / path, std::ios::binary) << bytes;
  }
}

Disk::Disk(const Tree& tree) {
  for (const auto& [path, bytes] : tree) {
    const bool folder = path.ends_with('/');
    durable_[folder ? path.substr(0, path.size() - 1) : path] = files_.size();
    files_.push_back({folder, bytes, {}, bytes.size()});
  }
  present_ = durable_;
}

void Disk::change(Names& names, const Change& change) {
  if (!change.from.empty() && names.erase(change.from) == 0 && change.to.empty()) return;
  if (!change.to.empty()) names[change.to] = change.file;
}

void Disk::add(const std::string& path, bool folder) {
  present_[path] = files_.size();
  changes_.push_back({"", path, files_.size()});
  files_.push_back({folder, {}, {}, 0});
}

std::size_t Disk::known(const std::string& path) const {
  const auto found = present_.find(path);
  if (found == present_.end()) throw std::logic_error("an operation on " + path + ", which the disk does not have");
  return found->second;
}

void Disk::sync(const std::string& path, bool lost) {
  if (!path.empty() && !files_[known(path)].folder) {
    File& file = files_[known(path)];
    if (!lost)
      for (const Write& write : file.pending) {
        if (write.sets_length)
          file.durable.resize(write.offset, '\0');
        else
          put(file.durable, write.offset, write.bytes);
      }
    file.pending.clear();
    return;
  }
  if (lost) return;
  std::erase_if(changes_, [&](const Change& one) {
    if (folder_of(one.to.empty() ? one.from : one.to) != path) return false;
    change(durable_, one);
    return true;
  });
}

void Disk::apply(const Operation& operation) {
  switch (operation.kind) {
    case Operation::Kind::create:
    case Operation::Kind::folder:
      add(operation.path, operation.kind == Operation::Kind::folder);
      return;
    case Operation::Kind::write: {
      File& file = files_[known(operation.path)];
      file.pending.push_back({operation.offset, operation.bytes, false});
      file.length = std::max<std::uint64_t>(file.length, operation.offset + operation.bytes.size());
      return;
    }
    case Operation::Kind::resize: {
      File& file = files_[known(operation.path)];
      file.pending.push_back({operation.offset, {}, true});
      file.length = operation.offset;
      return;
    }
    case Operation::Kind::sync:
    case Operation::Kind::lost_sync:
      sync(operation.path, operation.kind == Operation::Kind::lost_sync);
      return;
    case Operation::Kind::rename:
    case Operation::Kind::remove: {
      assert(operation.other.empty() || folder_of(operation.path) == folder_of(operation.other));
      const Change one{operation.path, operation.other, known(operation.path)};
      changes_.push_back(one);
      change(present_, one);
      return;
    }
    case Operation::Kind::acknowledge:
      return;
  }
}

Tree Disk::after_cut(Survival survival, std::uint64_t seed) const {
  Chooser chooser(survival, seed);
  Names names = durable_;
  for (const Change& one : changes_)
    if (chooser.keeps_name()) change(names, one);
  Tree tree;
  for (const auto& [path, index] : names) {
    const std::string parent = folder_of(path);
    if (!parent.empty() && !tree.contains(parent + "/")) continue;  // without a way to it
    const File& file = files_[index];
    if (file.folder) {
      tree[path + "/"];
      continue;
    }
    std::string content = file.durable;
    for (const Write& write : file.pending) {
      if (write.sets_length) {
        if (chooser.keeps_bytes()) content.resize(write.offset, '\0');
        continue;
      }
      for (std::size_t at = 0; at < write.bytes.size();) {
        const std::size_t take = std::min(write.bytes.size() - at, kSector - (write.offset + at) % kSector);
        if (chooser.keeps_bytes()) put(content, write.offset + at, std::string_view(write.bytes).substr(at, take));
        at += take;
      }
    }
    if (chooser.grows() && content.size() < file.length) content.resize(file.length, '\0');
    tree[path] = std::move(content);
  }
  return tree;
}

}  // namespace unweave::testing

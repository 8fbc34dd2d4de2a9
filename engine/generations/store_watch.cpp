// engine/generations/store_watch.cpp - compares the bytes of manifests.
#include "engine/generations/store_watch.h"

#include <utility>

#include "storage/formats/manifest.h"

namespace unweave {
namespace {

/// Nothing where there is no whole one: that is told by who reads it.
std::string manifest_of(const std::filesystem::path& store) {
  try {
    return manifest_text(read_manifest(store));
  } catch (const DataError&) {
    return {};
  }
}

}  // namespace

StoreWatch::StoreWatch(std::filesystem::path store) : store_(std::move(store)), manifest_(manifest_of(store_)) {}

bool StoreWatch::was_written() const {
  return manifest_of(store_) != manifest_;
}

void StoreWatch::refuse() const {
  throw ResourceError(store_.string() +
                      ": it was written while it was read, and nothing can be said of it: give the command again when "
                      "no stream and no purge is at work, or read a copy");
}

}  // namespace unweave

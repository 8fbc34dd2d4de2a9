// storage/store_folders.h - the folders of a store whose files its manifest names one by one, and those of which it
// records some.
#pragma once

namespace unweave {

inline constexpr const char* kStoreFolders[] = {"graph", "features", "labels", "splits", "state", "journal"};
inline constexpr const char* kReleaseFolders[] = {"certificates", "models"};

/// The lock of a store's writer: always empty.
inline constexpr const char* kLockName = "lock";

}  // namespace unweave

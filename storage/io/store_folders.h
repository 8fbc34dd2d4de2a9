// storage/io/store_folders.h - the folders of a store whose files its manifest names one by one,
// and those of which it records some.
#pragma once

#include <string_view>

namespace unweave {

inline constexpr const char* kJournalFolder = "journal";
inline constexpr const char* kCertificatesFolder = "certificates";
inline constexpr const char* kModelsFolder = "models";
/// What is kept of propagations that are not finished; no manifest names a file of it.
inline constexpr const char* kTilesFolder = "tiles";
inline constexpr const char* kPairsFolder = "pairs";
inline constexpr const char* kStoreFolders[] = {"graph", "features", "labels",       "splits",
                                                "names", "state",    kJournalFolder, kPairsFolder};
inline constexpr const char* kReleaseFolders[] = {kCertificatesFolder, kModelsFolder};

/// In kCertificatesFolder: the store's own signing key, the log of requests, the list of feeds of
/// changes. A purge keeps them.
inline constexpr const char* kSigningKeyName = "signing-key";
inline constexpr const char* kRequestLogName = "requests";
inline constexpr const char* kFeedListName = "feeds";

/// What every line of a public log of certificates begins with, and what its format begins with,
/// whatever the version.
inline constexpr std::string_view kPublicLine = R"({"format":"unweave certificate )";
inline constexpr std::string_view kCertificateFormats = kPublicLine.substr(std::string_view(R"({"format":")").size());

/// The mark of a store that is in the making.
inline constexpr const char* kUnfinishedName = "unfinished";
/// The lock of a store's writer: always empty.
inline constexpr const char* kLockName = "lock";

}  // namespace unweave

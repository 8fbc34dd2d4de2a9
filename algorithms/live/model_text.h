// algorithms/live/model_text.h - the text of a model's file with the history of its releases, and
// which request the models of a store have absorbed: all that an open store knows of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "storage/formats/model_file.h"
#include "storage/io/error.h"
#include "storage/io/json_text.h"

namespace unweave {

inline constexpr const char* kModelExtension = ".model";      ///< in kModelsFolder
inline constexpr const char* kReleaseExtension = ".release";  ///< in kCertificatesFolder

/// Form of a text that has its history itself.
inline constexpr int kModelText = 2;

inline constexpr std::size_t kMostNameCharacters = 64;
/// Whether a model can have this name: so many letters, digits, - and _ at most, the first no -.
[[nodiscard]] bool is_model_name(std::string_view name) noexcept;

/// Calls body(), which takes the text of a file apart; what is wrong with the text is the file's
/// fault. Throws FormatError, and what the body throws of other faults.
template <class Body>
auto take_apart(const std::filesystem::path& file, const Body& body) {
  try {
    return body();
  } catch (const DataError&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw FormatError(file, "text", fault_of(error));
  }
}

struct ModelText {
  nlohmann::ordered_json text;  ///< with its history
  ModelFile file;
};

/// Reads the file of a model, and where that is a canonical one its history from the release file.
/// One without history has absorbed nothing, and a writer certifies it anew. Throws DataError where
/// it is missing, FormatError for what is no such text.
[[nodiscard]] ModelText read_model_text(const std::filesystem::path& model, const std::filesystem::path& release);

/// Writes the file of a canonical model without its history, and before it the release file with
/// the history of both this file and the one that is there yet: whichever of the two a crash
/// leaves, its history is known. Durable on return.
void write_canonical_text(const std::filesystem::path& model, const std::filesystem::path& release, ModelText written);

/// A model, and the request that it has absorbed.
struct AbsorbedRequest {
  std::string model;
  std::uint64_t sequence = 0;
};
/// What the models of a store have absorbed that can be read; nothing while a purge that was
/// decided is to be finished. Throws DataError, ResourceError where the system refuses to read one.
[[nodiscard]] std::vector<AbsorbedRequest> absorbed_requests(const std::filesystem::path& store);
/// The furthest of them; 0 without one.
[[nodiscard]] AbsorbedRequest furthest_absorbed(const std::filesystem::path& store);

}  // namespace unweave

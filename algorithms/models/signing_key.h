// algorithms/models/signing_key.h - the Ed25519 key under which a store's certificates are signed.
//
// A file of 64 hexadecimal digits, the seed of RFC 8032: the store's own, certificates/signing-key,
// made with its first release, or one that lies elsewhere and is never written to the store.
// Whoever has it can sign other certificates.
#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <string_view>

#include "algorithms/random/hash.h"

namespace unweave {

/// certificates/signing-key of a store, where it keeps its own.
[[nodiscard]] std::filesystem::path signing_key_file(const std::filesystem::path& store);

/// Copyable; each copy is wiped when it goes.
class SigningKey {
 public:
  /// A file that a user names. Throws DataError where it is not a key.
  [[nodiscard]] static SigningKey read(const std::filesystem::path& file);
  /// Likewise that of a store, which must have one.
  [[nodiscard]] static SigningKey stored_in(const std::filesystem::path& store);
  /// That of a store, made where there is none, which only its owner may read; durable. The caller
  /// holds the writer's lock.
  [[nodiscard]] static SigningKey of_store(const std::filesystem::path& store);

  SigningKey(const SigningKey&) = default;
  SigningKey& operator=(const SigningKey&) = default;
  ~SigningKey();

  /// 64 hexadecimal digits.
  [[nodiscard]] std::string public_key() const;
  /// 128 hexadecimal digits: the signature of these 32 bytes.
  [[nodiscard]] std::string sign(const Hash& message) const;

 private:
  explicit SigningKey(const Hash& seed);
  static SigningKey from_text(std::string text, const std::filesystem::path& file, const char* remedy);
  std::array<unsigned char, 32> public_{};
  std::array<unsigned char, 64> secret_{};
};

/// Whether a signature of these 32 bytes was made under the key that has this public one; both in
/// hexadecimal digits.
[[nodiscard]] bool is_signature(std::string_view signature, const Hash& message, std::string_view public_key) noexcept;

}  // namespace unweave

// algorithms/models/signing_key.cpp - reads, makes and uses a key through libsodium.
#include "algorithms/models/signing_key.h"

#include <sodium.h>

#include "algorithms/random/random_source.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/file.h"
#include "storage/io/hex.h"
#include "storage/io/private_file.h"
#include "storage/io/store_folders.h"

namespace unweave {
namespace {

constexpr std::uint64_t kKeyFileLimit = 4096;

std::string hex_of(std::span<const unsigned char> bytes) {
  return to_hex(std::as_bytes(bytes));
}

}  // namespace

SigningKey::SigningKey(const Hash& seed) {
  crypto_sign_seed_keypair(public_.data(), secret_.data(), reinterpret_cast<const unsigned char*>(seed.data()));
}

SigningKey::~SigningKey() {
  wipe(secret_.data(), secret_.size());
}

SigningKey SigningKey::read(const std::filesystem::path& file) {
  return from_text(read_user_text(file, kKeyFileLimit), file, "`openssl rand -hex 32` makes one");
}

SigningKey SigningKey::stored_in(const std::filesystem::path& store) {
  const std::filesystem::path file = signing_key_file(store);
  return from_text(read_text_file(file, kKeyFileLimit), file,
                   "restore it from a copy: another key does not go on the certificates that it has signed");
}

SigningKey SigningKey::from_text(std::string text, const std::filesystem::path& file, const char* remedy) {
  const std::string_view digits = std::string_view(text).substr(0, text.find_last_not_of(" \r\n") + 1);
  std::optional<Hash> seed = hash_from_hex(digits);
  wipe(text.data(), text.size());
  if (!seed) throw InputError(file, "byte 0", "this is no signing key of 64 hexadecimal digits", remedy);
  SigningKey key(*seed);
  wipe(seed->data(), seed->size());
  return key;
}

std::filesystem::path signing_key_file(const std::filesystem::path& store) {
  return store / kCertificatesFolder / kSigningKeyName;
}

SigningKey SigningKey::of_store(const std::filesystem::path& store) {
  const std::filesystem::path file = signing_key_file(store);
  if (!has_entry(file)) {
    RandomSource random = RandomSource::from_system();
    Hash seed = draw_hash(random);
    std::string text = to_hex(seed) + "\n";
    make_folders(file.parent_path());
    replace_file(file, text, kOwnerAlone);
    wipe(text.data(), text.size());
    wipe(seed.data(), seed.size());
  }
  return stored_in(store);
}

std::string SigningKey::public_key() const {
  return hex_of(public_);
}

std::string SigningKey::sign(const Hash& message) const {
  std::array<unsigned char, crypto_sign_BYTES> signature{};
  crypto_sign_detached(signature.data(), nullptr, reinterpret_cast<const unsigned char*>(message.data()),
                       message.size(), secret_.data());
  return hex_of(signature);
}

bool is_signature(std::string_view signature, const Hash& message, std::string_view public_key) noexcept {
  const std::optional<Hash> key = hash_from_hex(public_key);
  if (!key || signature.size() != std::size_t{2} * crypto_sign_BYTES) return false;
  std::array<unsigned char, crypto_sign_BYTES> bytes{};
  for (const std::size_t half : {0, 1}) {
    const std::optional<Hash> part = hash_from_hex(signature.substr(64 * half, 64));
    if (!part) return false;
    std::copy(part->begin(), part->end(), std::as_writable_bytes(std::span(bytes)).subspan(32 * half).begin());
  }
  return crypto_sign_verify_detached(bytes.data(), reinterpret_cast<const unsigned char*>(message.data()),
                                     message.size(), reinterpret_cast<const unsigned char*>(key->data())) == 0;
}

}  // namespace unweave

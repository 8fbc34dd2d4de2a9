// tests/support/sealed_line.h - lines of a log of certificates as a forger makes them who has the
// key.
#pragma once

#include <string>

#include "algorithms/models/signing_key.h"
#include "algorithms/random/hash.h"
#include "storage/io/hex.h"

namespace unweave::testing {

/// The text of a JSON object with the members after it that a public line ends with.
inline std::string sealed_line(std::string object, const SigningKey& key) {
  object.pop_back();
  object += ",\"public_key\":\"" + key.public_key() + "\"";
  const Hash digest = hash_of(object);
  return object + ",\"digest\":\"" + to_hex(digest) + "\",\"signature\":\"" + key.sign(digest) + "\"}";
}

}  // namespace unweave::testing

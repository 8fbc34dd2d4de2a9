// tests/support/faults/shared_log.cpp - records one after another: a header, two paths, bytes.
#include "support/faults/shared_log.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <span>

namespace unweave::testing {
namespace {

struct Record {
  Operation::Kind kind;
  std::uint32_t path_bytes;
  std::uint32_t other_bytes;
  std::uint64_t offset;
  std::uint64_t size;
};

}  // namespace

SharedLog& SharedLog::get() {
  static SharedLog* const log = [] {
    void* const memory =
        ::mmap(nullptr, sizeof(SharedLog), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    return new (memory) SharedLog;  // the system has filled it with zeros
  }();
  return *log;
}

void SharedLog::clear() {
  used_ = 0;
  counted_ = 0;
  text_bytes_ = 0;
  places_ = 0;
}

void SharedLog::add(Operation::Kind kind, const char* path, const char* other, std::uint64_t offset, const void* bytes,
                    std::size_t size) {
  const Record record{kind, static_cast<std::uint32_t>(std::strlen(path)),
                      static_cast<std::uint32_t>(std::strlen(other)), offset, size};
  if (used_ + sizeof record + record.path_bytes + record.other_bytes + size > kRecordBytes) std::abort();
  const auto put = [&](const void* from, std::size_t count) {
    if (count > 0) std::memcpy(records_ + used_, from, count);
    used_ += count;
  };
  put(&record, sizeof record);
  put(path, record.path_bytes);
  put(other, record.other_bytes);
  put(bytes, size);
}

void SharedLog::add_allocation(std::uint64_t stack, long number) {
  const auto known = std::span(stacks_).first(places_);
  if (places_ == kMostPlaces || std::find(known.begin(), known.end(), stack) != known.end()) return;
  first_at_[places_] = number;
  stacks_[places_++] = stack;
}

void SharedLog::put_text(std::string_view text) {
  text_bytes_ = std::min(text.size(), kTextBytes);
  std::memcpy(text_, text.data(), text_bytes_);
}

std::vector<Operation> SharedLog::operations() const {
  std::vector<Operation> operations;
  const char* at = records_;
  const auto take = [&](std::size_t size) {
    at += size;
    return std::string(at - size, size);
  };
  while (at < records_ + used_) {
    Record record;
    std::memcpy(&record, at, sizeof record);
    at += sizeof record;
    Operation operation;
    operation.kind = record.kind;
    operation.path = take(record.path_bytes);
    operation.other = take(record.other_bytes);
    operation.offset = record.offset;
    operation.bytes = take(record.size);
    operations.push_back(std::move(operation));
  }
  return operations;
}

std::string text_of(const Operation& operation) {
  constexpr const char* kNames[] = {"create",      "make the folder", "write",  "resize",     "sync",
                                    "failed sync", "rename",          "remove", "acknowledge"};
  std::string text = kNames[static_cast<std::size_t>(operation.kind)];
  text += " " + operation.path;
  if (operation.kind == Operation::Kind::rename) text += " to " + operation.other;
  if (operation.kind == Operation::Kind::write)
    text += ", " + std::to_string(operation.bytes.size()) + " bytes at " + std::to_string(operation.offset);
  return text;
}

}  // namespace unweave::testing

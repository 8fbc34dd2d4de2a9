// tools/cli/descriptor_output.h - the bytes of a stream for a descriptor of others, which may be
// one whose writes do not wait.
#pragma once

#include <streambuf>
#include <vector>

namespace unweave {

/// Where a pipe is full and its descriptor was made not to wait, by another program that shares it,
/// say, this waits for a reader, as a write to any other pipe does. One thread writes at a time.
class DescriptorOutput final : public std::streambuf {
 public:
  explicit DescriptorOutput(int descriptor);
  ~DescriptorOutput() override;
  DescriptorOutput(const DescriptorOutput&) = delete;
  DescriptorOutput& operator=(const DescriptorOutput&) = delete;

 protected:
  int_type overflow(int_type character) override;
  int sync() override;

 private:
  [[nodiscard]] bool write_all();
  int descriptor_;
  std::vector<char> buffer_;
};

}  // namespace unweave

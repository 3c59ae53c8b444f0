// Runs checks in a child process, so that a crash, an endless loop or a memory hog is a result and
// not the end of the fuzzer. Child and parent share a page in which the child says what it is
// working on.
//
// Time is the processor time of the child since its last input began: a busy machine makes nothing
// slow. Memory is what the child has grown by since then.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace hlo {

struct InputLimits {
  double seconds = 10;       // per input
  int64_t megabytes = 1024;  // per input
};

// Shared by parent and child.
class SharedState {
 public:
  // Null when the system gives no memory.
  static SharedState* Create(size_t max_input);

  // The child is about to work on `input`.
  void Begin(std::string_view input);
  std::string_view input() const { return {input_, input_size_}; }
  // The child has found something in input(); only the start of a long one is kept.
  void SetFinding(std::string_view finding);
  std::string_view finding() const { return {finding_, finding_size_}; }

  // Inputs that killed a child and kinds of findings that are known: small sets of hashes.
  void AddKnown(uint64_t hash);
  bool IsKnown(uint64_t hash) const;

  std::atomic<uint64_t> runs{0};
  std::atomic<uint64_t> edges{0};
  std::atomic<uint64_t> corpus{0};
  std::atomic<uint64_t> repeats{0};  // findings of known kinds

 private:
  static constexpr size_t kKnown = 1024;
  uint64_t known_[kKnown] = {};
  size_t known_count_ = 0;
  size_t finding_size_ = 0;
  char finding_[8192] = {};
  size_t max_input_ = 0;
  size_t input_size_ = 0;
  char input_[1];  // max_input_ bytes
};

// What a finding begins with that is a matter of time.
inline constexpr std::string_view kSlow = "slow:";

// Runs `body` in a child and waits for it; `idle` is called a few times per second and may end the
// child by returning false. The result is empty when the child ended by itself and found nothing;
// otherwise `kind: details`.
std::string RunChild(SharedState& state, const InputLimits& limits,
                     const std::function<void()>& body, const std::function<bool()>& idle);

// The kind of a finding, for comparing: without the parts that change with the input.
std::string KindOfFinding(std::string_view finding);

}  // namespace hlo

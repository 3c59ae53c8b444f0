// --infeed= and --outfeed-dir=: what infeed instructions take in, word by word, and what outfeed
// instructions give, kept until it is written. Each device has queues of its own.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "lib/eval/communicator.h"
#include "lib/eval/host_feed.h"
#include "tools/run/inputs.h"

namespace hlo {

// How far the feed of a device has come: where a later process goes on.
struct FeedPosition {
  int64_t word = 0;     // the next one that is read,
  int64_t literal = 0;  // but for so many literals in it
  int64_t taken = 0;    // values
  int64_t given = 0;    // values,
  int64_t arrays = 0;   // and the arrays in them
};

// What a device has given, in order, and what it had given before that.
struct Outfeed {
  int64_t first = 0, first_array = 0;
  std::vector<Literal> values;
};

class FeedFiles final : public HostFeed {
 public:
  // `words` are values as inputs are (inputs.h); `N:VALUE` is one of device N, others are given to
  // every device. Refuses devices that are not there. With `copies`, so many devices that follow
  // each other are one of `mesh`, and are given the same.
  static absl::StatusOr<std::unique_ptr<FeedFiles>> Make(const std::vector<std::string>& words,
                                                         const DeviceMesh& mesh,
                                                         int64_t copies = 1);

  // From the first word on, with nothing given: before every run. No device may be in a run, here
  // and in the following.
  void Restart();
  std::vector<FeedPosition> Positions() const;
  // From there on, with nothing given. An error if there are not so many words.
  absl::Status GoOnAt(const std::vector<FeedPosition>& positions);
  // Forgets what was given: it has been written.
  void Drop();

  absl::StatusOr<Literal> Take(int64_t device, const Instruction& infeed) override;
  absl::Status Give(int64_t device, const Instruction& outfeed, Literal value) override;

  // What the device has given in the last run.
  const Outfeed& given(int64_t device) const { return given_[static_cast<size_t>(device)]; }

 private:
  absl::Status Missing(const Instruction& infeed, int64_t device, size_t arrays) const;

  struct Queue {
    std::vector<std::string> words;
    size_t next = 0;                      // word
    size_t skipped = 0;                   // literals in it that were taken before
    size_t count = 0;                     // literals in the word before it
    std::deque<LiteralFromWord> waiting;  // of the word before it
    int64_t taken = 0;
  };

  std::vector<Queue> queues_;  // by device, which alone uses its own
  std::vector<Outfeed> given_;
};

}  // namespace hlo

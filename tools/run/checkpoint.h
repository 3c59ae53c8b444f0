// What a training loop needs to go on after its process has ended: the arrays that are fed back, as
// they are before a step.
//
//   DIR/step-200/checkpoint.json   step, module, and size and hash of each file
//   DIR/step-200/arg3.npy          by number of the array leaf, as --input-dir names them
//
// A checkpoint is written to a folder of another name, which is renamed at last: under its own name
// it is whole. The two newest are kept. Left-over folders of a killed process are removed by the
// next one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/types/literal.h"

namespace hlo {

struct Checkpoint {
  int64_t step = 0;  // so many are done
  // By number of the array leaf of the parameters.
  std::vector<std::pair<size_t, Literal>> arrays;
};

class CheckpointFolder {
 public:
  // Makes `path` where there is none, and removes what a killed process left. `module`: a hash of
  // what runs; checkpoints of another module are refused.
  static absl::StatusOr<CheckpointFolder> Open(std::string path, uint64_t module);

  absl::Status Write(const Checkpoint& checkpoint) const;

  // A checkpoint that was found; `note` says which newer ones are not whole.
  struct Found {
    std::optional<Checkpoint> checkpoint;
    std::string note;
  };
  // The newest whole one, with arrays of these shapes in this order. None at all is no error; that
  // none of those that there are can be read is.
  absl::StatusOr<Found> ReadNewest(const std::vector<std::pair<size_t, Shape>>& arrays) const;

 private:
  CheckpointFolder(std::string path, uint64_t module) : path_(std::move(path)), module_(module) {}
  std::vector<int64_t> Steps() const;  // ascending
  std::string FolderOf(int64_t step) const;
  absl::StatusOr<Checkpoint> Read(int64_t step,
                                  const std::vector<std::pair<size_t, Shape>>& arrays) const;

  std::string path_;
  uint64_t module_;
};

}  // namespace hlo

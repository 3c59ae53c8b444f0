#include "tools/run/training_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "backends/common/buffer_run.h"
#include "lib/analysis/leaves.h"
#include "lib/ir/computation.h"
#include "lib/support/status.h"
#include "tools/run/bench.h"
#include "tools/run/checkpoint.h"

namespace hlo {
namespace {

constexpr double kProgressMs = 100;  // between two texts of the progress line

// Frees the literals as it goes.
absl::Status TakeLeaves(Literal value, Shape shape, std::vector<HostBuffer>& buffers) {
  if (!shape.IsTuple()) {
    ASSIGN_OR_RETURN(buffers.emplace_back(), HostBuffer::Of(value, shape));
    return absl::OkStatus();
  }
  for (int i = 0; i < shape.element_count_of_tuple(); ++i) {
    Literal element = std::move(value.mutable_elements()[static_cast<size_t>(i)]);
    RETURN_IF_ERROR(TakeLeaves(std::move(element), shape.element(i), buffers));
  }
  return absl::OkStatus();
}

absl::StatusOr<Literal> ValueOf(Shape shape, std::vector<HostBuffer>& buffers, size_t& next) {
  if (!shape.IsTuple()) {
    const HostBuffer buffer = std::move(buffers[next++]);
    return buffer.ToLiteral();
  }
  std::vector<Literal> elements;
  for (const Shape element : shape.elements()) {
    ASSIGN_OR_RETURN(elements.emplace_back(), ValueOf(element, buffers, next));
  }
  return Literal::Tuple(std::move(elements));
}

class Loop {
 public:
  Loop(const Executable& executable, const BufferPlan& plan, const LoopOptions& loop,
       const RunOptions& options, Progress& progress)
      : executable_(executable),
        entry_(*executable.module().entry()),
        plan_(plan),
        loop_(loop),
        options_(options),
        progress_(progress) {}

  absl::StatusOr<LoopResult> Run(std::vector<Literal> arguments) {
    RETURN_IF_ERROR(Open());
    for (size_t i = 0; i < arguments.size(); ++i) {
      RETURN_IF_ERROR(TakeLeaves(std::move(arguments[i]),
                                 entry_.parameter(static_cast<int>(i))->shape(), inputs_));
      arguments[i] = Literal();
    }
    RETURN_IF_ERROR(Resume());
    ASSIGN_OR_RETURN(run_, BufferRun::Make(executable_));
    for (HostBuffer& input : inputs_) {
      ASSIGN_OR_RETURN(input, run_->Place(std::move(input)));
    }
    started_ = Now();
    for (int64_t step = result_.first_step; step < loop_.steps; ++step) {
      RETURN_IF_ERROR(Step(step));
    }
    result_.milliseconds = Now() - started_;
    size_t next = 0;
    ASSIGN_OR_RETURN(result_.value, ValueOf(entry_.root()->shape(), outputs_, next));
    return std::move(result_);
  }

 private:
  // Where arrays of checkpoints go, by number of the array leaf.
  std::vector<std::pair<size_t, size_t>> FedInputs() const {
    std::vector<std::pair<size_t, size_t>> fed;  // array leaf, leaf
    size_t leaf = 0, array = 0;
    for (const Instruction* parameter : entry_.parameters()) {
      for (const Shape shape : LeafShapes(parameter->shape())) {
        const bool is_fed =
            std::any_of(plan_.feeds.begin(), plan_.feeds.end(),
                        [&](const BufferPlan::Feed& feed) { return feed.input == leaf; });
        if (is_fed) fed.emplace_back(array, leaf);
        array += shape.IsArray() ? 1 : 0;
        ++leaf;
      }
    }
    return fed;
  }

  absl::Status Open() {
    if (loop_.checkpoint.empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(folder_, CheckpointFolder::Open(loop_.checkpoint, loop_.module));
    return absl::OkStatus();
  }

  absl::Status Resume() {
    if (!loop_.resume) return absl::OkStatus();
    const std::vector<std::pair<size_t, size_t>> fed = FedInputs();
    std::vector<std::pair<size_t, Shape>> arrays;
    for (const auto& [array, leaf] : fed) arrays.emplace_back(array, inputs_[leaf].shape());
    ASSIGN_OR_RETURN(const CheckpointFolder::Found found, folder_->ReadNewest(arrays));
    if (!found.note.empty()) result_.notes.push_back(found.note);
    if (!found.checkpoint) {
      result_.notes.push_back(
          fmt::format("no checkpoint in `{}`: begins with step 1\n", loop_.checkpoint));
      return absl::OkStatus();
    }
    result_.first_step = found.checkpoint->step;
    if (result_.first_step >= loop_.steps) {
      return Error("the checkpoint is of step {}, and `--iterations` asks for {}; nothing is left",
                   result_.first_step, loop_.steps);
    }
    for (size_t i = 0; i < fed.size(); ++i) {
      ASSIGN_OR_RETURN(inputs_[fed[i].second],
                       HostBuffer::Of(found.checkpoint->arrays[i].second, arrays[i].second));
    }
    result_.notes.push_back(fmt::format("goes on after step {}\n", result_.first_step));
    return absl::OkStatus();
  }

  absl::Status Step(int64_t step) {
    ShowProgress(step);
    arguments_.clear();
    for (size_t i = 0; i < inputs_.size(); ++i)
      arguments_.push_back(plan_.donated[i] ? Donated(inputs_[i]) : Borrowed(inputs_[i]));
    outputs_.clear();
    ASSIGN_OR_RETURN(outputs_, run_->Execute(arguments_, options_));
    const int64_t done = step + 1;
    const bool is_last = done == loop_.steps;
    if (folder_ && (is_last || (loop_.every > 0 && done % loop_.every == 0)))
      RETURN_IF_ERROR(WriteCheckpoint(done));
    return is_last ? absl::OkStatus() : FeedBack();
  }

  absl::Status FeedBack() {
    for (size_t i = 0; i < plan_.feeds.size(); ++i) {
      const BufferPlan::Feed& feed = plan_.feeds[i];
      const bool is_needed_again =
          std::any_of(plan_.feeds.begin() + static_cast<std::ptrdiff_t>(i) + 1, plan_.feeds.end(),
                      [&](const BufferPlan::Feed& other) { return other.output == feed.output; });
      const Shape shape = inputs_[feed.input].shape();
      if (is_needed_again) {
        ASSIGN_OR_RETURN(HostBuffer copy, outputs_[feed.output].Copy());
        inputs_[feed.input] = std::move(copy).As(shape);
      } else {
        inputs_[feed.input] = std::move(outputs_[feed.output]).As(shape);
      }
    }
    return absl::OkStatus();
  }

  absl::Status WriteCheckpoint(int64_t step) {
    Checkpoint checkpoint{step, {}};
    for (const auto& [array, leaf] : FedInputs()) {
      const auto feed =
          std::find_if(plan_.feeds.begin(), plan_.feeds.end(),
                       [leaf = leaf](const BufferPlan::Feed& f) { return f.input == leaf; });
      ASSIGN_OR_RETURN(Literal value, outputs_[feed->output].ToLiteral());
      checkpoint.arrays.emplace_back(array, std::move(value));
    }
    return folder_->Write(checkpoint);
  }

  void ShowProgress(int64_t step) {
    const double now = Now();
    if (loop_.steps == 1 || now - shown_ < kProgressMs) return;
    shown_ = now;
    const auto done = static_cast<double>(step - result_.first_step);
    const double rate = done > 0 ? done / (now - started_) * 1e3 : 0;
    progress_.Step(fmt::format("step {} of {}, {:.4g} steps/s", step + 1, loop_.steps, rate));
  }

  const Executable& executable_;
  const Computation& entry_;
  const BufferPlan& plan_;
  const LoopOptions& loop_;
  const RunOptions& options_;
  Progress& progress_;
  std::optional<CheckpointFolder> folder_;
  std::unique_ptr<BufferRun> run_;
  std::vector<HostBuffer> inputs_, outputs_;  // by leaf
  std::vector<BufferArgument> arguments_;
  LoopResult result_;
  double started_ = 0, shown_ = 0;
};

}  // namespace

absl::StatusOr<LoopResult> RunLoop(const Executable& executable, std::vector<Literal> arguments,
                                   const BufferPlan& plan, const LoopOptions& loop,
                                   const RunOptions& options, Progress& progress) {
  return Loop(executable, plan, loop, options, progress).Run(std::move(arguments));
}

}  // namespace hlo

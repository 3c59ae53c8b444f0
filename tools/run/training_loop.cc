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
#include "tools/run/feed_files.h"

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

// Memory of one device. What is in the memory of `run` goes before it.
struct OneDevice {
  std::unique_ptr<BufferRun> run;
  RunOptions options;
  std::vector<HostBuffer> inputs, outputs;  // by leaf
  std::vector<BufferArgument> arguments;
};

class Loop {
 public:
  Loop(const Executable& executable, const BufferPlan& plan, const LoopOptions& loop,
       const LoopDevices& devices, Progress& progress)
      : executable_(executable),
        entry_(*executable.module().entry()),
        plan_(plan),
        loop_(loop),
        mesh_(devices.mesh),
        options_(devices.options),
        feed_(devices.limits.feed),
        progress_(progress),
        threads_(executable.module(), devices.mesh, devices.limits) {}

  absl::StatusOr<LoopResult> Run(std::vector<std::vector<Literal>> arguments) {
    FindFed();
    if (feed_ != nullptr) feed_->Restart();
    RETURN_IF_ERROR(Open());
    for (std::vector<Literal>& own : arguments) RETURN_IF_ERROR(Take(std::move(own)));
    RETURN_IF_ERROR(Resume());
    if (result_.first_step < loop_.steps) {
      for (size_t i = 0; i < devices_.size(); ++i) RETURN_IF_ERROR(Place(i));
    }
    started_ = Now();
    for (int64_t step = result_.first_step; step < loop_.steps; ++step) {
      RETURN_IF_ERROR(Step(step));
    }
    result_.milliseconds = Now() - started_;
    for (OneDevice& device : devices_) {
      size_t next = 0;
      ASSIGN_OR_RETURN(result_.values.emplace_back(),
                       ValueOf(entry_.root()->shape(), device.outputs, next));
    }
    return std::move(result_);
  }

 private:
  // An input that is fed: what checkpoints hold.
  struct Fed {
    size_t array;  // number among the arrays of the parameters
    size_t output, input;
    Shape shape;
  };
  void FindFed() {
    size_t leaf = 0, array = 0;
    for (const Instruction* parameter : entry_.parameters()) {
      for (const Shape shape : LeafShapes(parameter->shape())) {
        const auto feed = std::find_if(plan_.feeds.begin(), plan_.feeds.end(),
                                       [&](const auto& other) { return other.input == leaf; });
        if (feed != plan_.feeds.end()) fed_.push_back({array, feed->output, leaf, shape});
        array += shape.IsArray() ? 1 : 0;
        ++leaf;
      }
    }
    const std::vector<Shape> outputs = LeafShapes(entry_.root()->shape());
    for (size_t i = 0; i < outputs.size(); ++i) {
      const bool is_fed =
          std::any_of(fed_.begin(), fed_.end(), [i](const Fed& fed) { return fed.output == i; });
      if (!is_fed && outputs[i].IsArray()) kept_.emplace_back(i, outputs[i]);
    }
  }

  absl::Status Open() {
    if (loop_.checkpoint.empty()) return absl::OkStatus();
    CheckpointForm form{loop_.module, mesh_, {}, kept_, feed_ != nullptr};
    for (const Fed& fed : fed_) form.arrays.emplace_back(fed.array, fed.shape);
    ASSIGN_OR_RETURN(folder_, CheckpointFolder::Open(loop_.checkpoint, std::move(form)));
    // Among older ones of higher steps nobody would find those of this loop.
    if (const int64_t step = folder_->NewestStep(); step > 0 && !loop_.resume)
      return Error(
          "`{}` holds checkpoints of an earlier loop, the newest of step {}; add "
          "`--resume` to go on from there, or name another folder",
          loop_.checkpoint, step);
    return absl::OkStatus();
  }

  // The inputs of the next device.
  absl::Status Take(std::vector<Literal> arguments) {
    OneDevice& device = devices_.emplace_back();
    for (size_t i = 0; i < arguments.size(); ++i) {
      RETURN_IF_ERROR(TakeLeaves(std::move(arguments[i]),
                                 entry_.parameter(static_cast<int>(i))->shape(), device.inputs));
      arguments[i] = Literal();
    }
    return absl::OkStatus();
  }

  absl::Status Resume() {
    if (!loop_.resume) return absl::OkStatus();
    ASSIGN_OR_RETURN(const CheckpointFolder::Found found, folder_->ReadNewest());
    if (!found.note.empty()) result_.notes.push_back(found.note);
    if (!found.checkpoint) {
      result_.notes.push_back(
          fmt::format("no checkpoint in `{}`: begins with step 1\n", loop_.checkpoint));
      return absl::OkStatus();
    }
    result_.first_step = found.checkpoint->step;
    const bool is_over = result_.first_step == loop_.steps && !found.checkpoint->results.empty();
    if (result_.first_step >= loop_.steps && !is_over) {
      return Error("the checkpoint is of step {}, and `--iterations` asks for {}; nothing is left",
                   result_.first_step, loop_.steps);
    }
    for (size_t device = 0; device < devices_.size(); ++device) {
      const std::vector<Literal>& arrays = found.checkpoint->devices[device];
      for (size_t i = 0; i < fed_.size(); ++i) {
        ASSIGN_OR_RETURN(devices_[device].inputs[fed_[i].input],
                         HostBuffer::Of(arrays[i], fed_[i].shape));
      }
    }
    if (is_over) {
      result_.notes.push_back(
          fmt::format("step {} was the last: these are its results\n", result_.first_step));
      return TakeResults(*found.checkpoint);
    }
    result_.notes.push_back(fmt::format("goes on after step {}\n", result_.first_step));
    return feed_ != nullptr ? feed_->GoOnAt(found.checkpoint->feeds) : absl::OkStatus();
  }

  // What the last step gave: what is fed back lies in the inputs.
  absl::Status TakeResults(const Checkpoint& last) {
    const std::vector<Shape> shapes = LeafShapes(entry_.root()->shape());
    for (size_t device = 0; device < devices_.size(); ++device) {
      std::vector<HostBuffer>& outputs = devices_[device].outputs;
      for (const Shape shape : shapes) {
        ASSIGN_OR_RETURN(outputs.emplace_back(), HostBuffer::Make(shape));
      }
      for (size_t i = 0; i < fed_.size(); ++i) {
        ASSIGN_OR_RETURN(outputs[fed_[i].output],
                         HostBuffer::Of(last.devices[device][i], shapes[fed_[i].output]));
      }
      for (size_t i = 0; i < kept_.size(); ++i) {
        ASSIGN_OR_RETURN(outputs[kept_[i].first],
                         HostBuffer::Of(last.results[device][i], kept_[i].second));
      }
    }
    return absl::OkStatus();
  }

  absl::Status Place(size_t i) {
    OneDevice& device = devices_[i];
    ASSIGN_OR_RETURN(device.run, BufferRun::Make(executable_));
    device.options = threads_.OptionsOf(static_cast<int64_t>(i), options_);
    for (HostBuffer& input : device.inputs) {
      ASSIGN_OR_RETURN(input, device.run->Place(std::move(input)));
    }
    return absl::OkStatus();
  }

  absl::Status Step(int64_t step) {
    ShowProgress(step);
    RETURN_IF_ERROR(threads_.GoOn(
        [this](int64_t device) { return StepOf(devices_[static_cast<size_t>(device)]); }));
    const int64_t done = step + 1;
    const bool is_last = done == loop_.steps;
    if (folder_ && (is_last || (loop_.every > 0 && done % loop_.every == 0)))
      RETURN_IF_ERROR(WriteCheckpoint(done, is_last));
    if (is_last) return absl::OkStatus();
    for (OneDevice& device : devices_) RETURN_IF_ERROR(FeedBack(device));
    return absl::OkStatus();
  }

  absl::Status StepOf(OneDevice& device) const {
    device.arguments.clear();
    for (size_t i = 0; i < device.inputs.size(); ++i) {
      HostBuffer& input = device.inputs[i];
      device.arguments.push_back(plan_.donated[i] ? Donated(input) : Borrowed(input));
    }
    device.outputs.clear();
    ASSIGN_OR_RETURN(device.outputs, device.run->Execute(device.arguments, device.options));
    return absl::OkStatus();
  }

  absl::Status FeedBack(OneDevice& device) const {
    for (size_t i = 0; i < plan_.feeds.size(); ++i) {
      const BufferPlan::Feed& feed = plan_.feeds[i];
      const bool is_needed_again =
          std::any_of(plan_.feeds.begin() + static_cast<std::ptrdiff_t>(i) + 1, plan_.feeds.end(),
                      [&](const BufferPlan::Feed& other) { return other.output == feed.output; });
      HostBuffer &from = device.outputs[feed.output], &to = device.inputs[feed.input];
      const Shape shape = to.shape();
      if (is_needed_again) {
        ASSIGN_OR_RETURN(HostBuffer copy, from.Copy());
        to = std::move(copy).As(shape);
      } else {
        to = std::move(from).As(shape);
      }
    }
    return absl::OkStatus();
  }

  absl::Status WriteCheckpoint(int64_t step, bool is_last) {
    if (loop_.keep_outfeed) RETURN_IF_ERROR(loop_.keep_outfeed());
    Checkpoint checkpoint;
    checkpoint.step = step;
    if (feed_ != nullptr) checkpoint.feeds = feed_->Positions();
    for (const OneDevice& device : devices_) {
      std::vector<Literal>& arrays = checkpoint.devices.emplace_back();
      for (const Fed& fed : fed_) {
        ASSIGN_OR_RETURN(arrays.emplace_back(), device.outputs[fed.output].ToLiteral());
      }
      if (!is_last) continue;
      std::vector<Literal>& results = checkpoint.results.emplace_back();
      for (const auto& [output, shape] : kept_) {
        ASSIGN_OR_RETURN(results.emplace_back(), device.outputs[output].ToLiteral());
      }
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
  const DeviceMesh mesh_;
  const RunOptions& options_;
  FeedFiles* const feed_;  // null: the module does not feed
  Progress& progress_;
  DeviceThreads threads_;
  std::vector<Fed> fed_;                        // in the order of the inputs
  std::vector<std::pair<size_t, Shape>> kept_;  // arrays of the result that nothing is fed with
  std::optional<CheckpointFolder> folder_;
  std::vector<OneDevice> devices_;
  LoopResult result_;
  double started_ = 0, shown_ = 0;
};

}  // namespace

absl::StatusOr<LoopResult> RunLoop(const Executable& executable,
                                   std::vector<std::vector<Literal>> arguments,
                                   const BufferPlan& plan, const LoopOptions& loop,
                                   const LoopDevices& devices, Progress& progress) {
  return Loop(executable, plan, loop, devices, progress).Run(std::move(arguments));
}

}  // namespace hlo

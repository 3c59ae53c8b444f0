#include "tools/run/buffer_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "lib/analysis/leaves.h"
#include "lib/ir/entry_info.h"
#include "lib/support/read_number.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"
#include "passes/pass_manager.h"

namespace hlo {
namespace {

// A parameter or an output, and a part of it.
struct Part {
  std::optional<int64_t> number;  // absent: "{1,0}" alone
  ShapeIndex index;
};

bool ReadPlace(std::string_view& text, int64_t& number) {
  number = TakeNumber<int64_t>(text).value_or(-1);
  return number >= 0;
}

bool Skip(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

bool ReadIndex(std::string_view& text, ShapeIndex& index) {
  if (!Skip(text, '{')) return false;
  while (!Skip(text, '}')) {
    if (!index.empty() && !Skip(text, ',')) return false;
    if (!ReadPlace(text, index.emplace_back())) return false;
  }
  return true;
}

// "1", "1:{0}".
bool ReadParameterPart(std::string_view& text, Part& part) {
  if (!ReadPlace(text, part.number.emplace())) return false;
  return !text.starts_with(":{") || (Skip(text, ':') && ReadIndex(text, part.index));
}

// "1" as "{1}", or "{1,0}".
bool ReadOutput(std::string_view& text, Part& part) {
  if (text.starts_with("{")) return ReadIndex(text, part.index);
  return ReadPlace(text, part.number.emplace());
}

struct FeedWord {
  Part output, input;
};

// Parts with commas between them; empty: it is none.
template <class T, class Read>
std::vector<T> ReadList(std::string_view text, const Read& read) {
  std::vector<T> parts;
  do {
    if (!read(text, parts.emplace_back())) return {};
  } while (Skip(text, ','));
  return text.empty() ? parts : std::vector<T>();
}

std::vector<Part> ReadDonate(std::string_view text) {
  return ReadList<Part>(text, ReadParameterPart);
}
std::vector<FeedWord> ReadFeed(std::string_view text) {
  return ReadList<FeedWord>(text, [](std::string_view& rest, FeedWord& word) {
    return ReadOutput(rest, word.output) && Skip(rest, ':') && ReadParameterPart(rest, word.input);
  });
}

// A leaf, and where it is.
struct Leaf {
  int64_t parameter = -1;  // -1: of the result
  ShapeIndex index;
  Shape shape;
  size_t number = 0;
};

class Planner {
 public:
  explicit Planner(Module& module) : module_(module), entry_(*module.entry()) {
    for (const Instruction* parameter : entry_.parameters())
      Append(parameter->shape(), parameter->parameter_number(), inputs_);
    Append(entry_.root()->shape(), -1, outputs_);
    plan_.donated.resize(inputs_.size());
  }

  absl::StatusOr<BufferPlan> Make(std::string_view donate, std::string_view feed, int64_t steps) {
    RETURN_IF_ERROR(Donate(donate));
    RETURN_IF_ERROR(feed == "aliases" ? FeedAliases() : FeedParts(feed));
    RETURN_IF_ERROR(CheckSteps(steps));
    RETURN_IF_ERROR(CheckMustAlias());
    RETURN_IF_ERROR(AddAliases());
    return std::move(plan_);
  }

 private:
  static void Append(Shape shape, int64_t parameter, std::vector<Leaf>& leaves) {
    ForEachLeaf(shape, [&](Shape leaf, const ShapeIndex& index) {
      leaves.push_back({parameter, index, leaf, leaves.size()});
    });
  }

  // The arrays at and below a part.
  absl::StatusOr<std::vector<Leaf>> LeavesOf(std::string_view flag, int64_t parameter,
                                             const ShapeIndex& index) const {
    if (parameter >= entry_.parameter_count()) {
      return Error("`--{}` names parameter {}, but `{}` has {}", flag, parameter, entry_.name(),
                   entry_.parameter_count());
    }
    const bool is_output = parameter < 0;
    const Shape whole =
        is_output ? entry_.root()->shape() : entry_.parameter(static_cast<int>(parameter))->shape();
    std::vector<Leaf> found;
    for (const Leaf& leaf : is_output ? outputs_ : inputs_) {
      if (leaf.parameter != parameter || !leaf.shape.IsArray() ||
          leaf.index.size() < index.size() ||
          !std::equal(index.begin(), index.end(), leaf.index.begin()))
        continue;
      found.push_back(leaf);
    }
    if (!IndexIsValid(whole, index) || found.empty()) {
      return Error("`--{}` names index {} of {}, `{}`, where no array is", flag, ToString(index),
                   is_output ? "the result" : fmt::format("parameter {}", parameter), whole);
    }
    return found;
  }

  std::string NameOf(const Leaf& input) const {
    const std::string_view name = entry_.parameter(static_cast<int>(input.parameter))->name();
    return fmt::format("{}{}", name, input.index.empty() ? "" : ToString(input.index));
  }
  SourceLoc LocOf(const Leaf& input) const {
    return entry_.parameter(static_cast<int>(input.parameter))->loc();
  }

  absl::Status Donate(std::string_view text) {
    if (text == "all") {
      for (const Leaf& leaf : inputs_) plan_.donated[leaf.number] = leaf.shape.IsArray();
    }
    if (text.empty() || text == "all" || text == "none") return absl::OkStatus();
    for (const Part& part : ReadDonate(text)) {
      ASSIGN_OR_RETURN(const std::vector<Leaf> leaves,
                       LeavesOf("donate", *part.number, part.index));
      for (const Leaf& leaf : leaves) plan_.donated[leaf.number] = true;
    }
    return absl::OkStatus();
  }

  absl::Status Feed(const Leaf& from, const Leaf& to) {
    if (!CompatibleIgnoringDynamic(from.shape, to.shape) || from.shape.has_dynamic_dims() ||
        to.shape.has_dynamic_dims()) {
      return Error(LocOf(to),
                   "`--feed` gives output {}, `{}`, to `{}`, `{}`; expected equal shapes",
                   ToString(from.index), from.shape, NameOf(to), to.shape);
    }
    for (const BufferPlan::Feed& other : plan_.feeds) {
      if (other.input == to.number)
        return Error(LocOf(to), "`--feed` gives two outputs to `{}`", NameOf(to));
    }
    plan_.feeds.push_back({from.number, to.number});
    plan_.donated[to.number] = true;
    return absl::OkStatus();
  }

  absl::Status FeedParts(std::string_view text) {
    for (const FeedWord& word : text.empty() ? std::vector<FeedWord>() : ReadFeed(text)) {
      ShapeIndex output = word.output.index;
      // Output 0 of what is no tuple is the result.
      if (word.output.number && (entry_.root()->shape().IsTuple() || *word.output.number > 0))
        output.push_back(*word.output.number);
      ASSIGN_OR_RETURN(const std::vector<Leaf> from, LeavesOf("feed", -1, output));
      ASSIGN_OR_RETURN(const std::vector<Leaf> to,
                       LeavesOf("feed", *word.input.number, word.input.index));
      if (from.size() != to.size()) {
        return Error(LocOf(to.front()), "`--feed` gives {} arrays to {} of parameter {}",
                     from.size(), to.size(), *word.input.number);
      }
      for (size_t i = 0; i < from.size(); ++i) RETURN_IF_ERROR(Feed(from[i], to[i]));
    }
    return absl::OkStatus();
  }

  absl::Status FeedAliases() {
    if (module_.config().aliases.empty())
      return Error("`--feed=aliases`: module `{}` has no `input_output_alias`", module_.name());
    for (const InputOutputAlias& alias : module_.config().aliases) {
      ASSIGN_OR_RETURN(const std::vector<Leaf> from, LeavesOf("feed", -1, alias.output));
      ASSIGN_OR_RETURN(const std::vector<Leaf> to,
                       LeavesOf("feed", alias.parameter, alias.parameter_index));
      RETURN_IF_ERROR(Feed(from.front(), to.front()));
    }
    return absl::OkStatus();
  }

  absl::Status CheckSteps(int64_t steps) const {
    for (const Leaf& leaf : inputs_) {
      const bool is_fed =
          std::any_of(plan_.feeds.begin(), plan_.feeds.end(),
                      [&](const BufferPlan::Feed& feed) { return feed.input == leaf.number; });
      if (steps > 1 && plan_.donated[leaf.number] && !is_fed) {
        return Error(LocOf(leaf),
                     "`{}` is donated, but not fed: step 2 of {} would use it again; leave it out "
                     "of `--donate`",
                     NameOf(leaf), steps);
      }
    }
    return absl::OkStatus();
  }

  const Leaf& InputOf(const InputOutputAlias& alias) const {
    return *std::find_if(inputs_.begin(), inputs_.end(), [&](const Leaf& leaf) {
      return leaf.parameter == alias.parameter && leaf.index == alias.parameter_index;
    });
  }

  absl::Status CheckMustAlias() const {
    for (const InputOutputAlias& alias : module_.config().aliases) {
      const Leaf& input = InputOf(alias);
      if (!alias.must_alias || plan_.donated[input.number]) continue;
      return Error(LocOf(input),
                   "output {} must alias `{}`, which is not donated; add `{}` to `--donate`",
                   ToString(alias.output), NameOf(input), PartText(input));
    }
    return absl::OkStatus();
  }
  static std::string PartText(const Leaf& input) {
    if (input.index.empty()) return fmt::format("{}", input.parameter);
    return fmt::format("{}:{}", input.parameter, ToString(input.index));
  }

  absl::Status AddAliases() {
    for (const BufferPlan::Feed& feed : plan_.feeds) {
      const Leaf &from = outputs_[feed.output], &to = inputs_[feed.input];
      if (AliasOfOutput(module_, from.index) != nullptr ||
          AliasOfParameter(module_, to.parameter, to.index) != nullptr)
        continue;
      RemoveDonor(module_, to.parameter, to.index);
      RETURN_IF_ERROR(AddAlias(module_, {from.index, to.parameter, to.index, false}));
    }
    for (const Leaf& leaf : inputs_) {
      if (!plan_.donated[leaf.number]) RemoveDonor(module_, leaf.parameter, leaf.index);
      if (!plan_.donated[leaf.number] || IsDonor(module_, leaf.parameter, leaf.index) ||
          AliasOfParameter(module_, leaf.parameter, leaf.index) != nullptr)
        continue;
      RETURN_IF_ERROR(AddDonor(module_, {leaf.parameter, leaf.index}));
    }
    PassContext context;
    return RunPipelineText("optimize_input_output_buffer_alias", module_, context).status();
  }

  Module& module_;
  const Computation& entry_;
  std::vector<Leaf> inputs_, outputs_;
  BufferPlan plan_;
};

}  // namespace

std::string DonateMistake(const std::string& text) {
  if (text == "all" || text == "none" || !ReadDonate(text).empty()) return "";
  return fmt::format("expects all, none or parameters such as 0,1:{{0}}, found `{}`", text);
}

std::string FeedMistake(const std::string& text) {
  if (text == "aliases" || !ReadFeed(text).empty()) return "";
  return fmt::format(
      "expects aliases or OUTPUT:PARAMETER,... such as 0:1,{{2}}:3:{{0}}, found `{}`", text);
}

absl::StatusOr<BufferPlan> MakeBufferPlan(Module& module, std::string_view donate,
                                          std::string_view feed, int64_t steps) {
  return Planner(module).Make(donate, feed, steps);
}

}  // namespace hlo

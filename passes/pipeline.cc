#include "passes/pipeline.h"

#include <algorithm>
#include <charconv>

#include "absl/strings/ascii.h"
#include "lib/support/strings.h"
#include "passes/pipelines.h"
#include "passes/registry.h"

namespace hlo {
namespace {

constexpr int kMaxDepth = 64;

// `value` as it stands in a pipeline.
std::string Quoted(const std::string& value) {
  return value.find_first_of(", }") == std::string::npos ? value : '"' + value + '"';
}

class PipelineParser {
 public:
  explicit PipelineParser(std::string_view text) : text_(text) {}

  absl::StatusOr<Pipeline> Parse() {
    ASSIGN_OR_RETURN(Pipeline result, Items());
    if (at_ < text_.size())
      return Error(Here(1), "expected `,` or the end of the pipeline, found `{}`", text_[at_]);
    return result;
  }

 private:
  SourceLoc Here(size_t length) const {
    return {static_cast<uint32_t>(at_), static_cast<uint32_t>(length)};
  }
  void Blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t'))
      ++at_;
  }
  bool Eat(char c) {
    Blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::string_view Word() {
    Blanks();
    const size_t start = at_;
    while (at_ < text_.size() && (absl::ascii_isalnum(text_[at_]) || text_[at_] == '_' ||
                                  text_[at_] == '-' || text_[at_] == '.')) {
      ++at_;
    }
    return text_.substr(start, at_ - start);
  }

  absl::StatusOr<Pipeline> Items() {
    Pipeline result;
    Blanks();
    if (at_ == text_.size()) return result;
    do {
      RETURN_IF_ERROR(Item(result));
    } while (Eat(','));
    Blanks();
    return result;
  }

  // Appends one item, or the items that the name of a pipeline stands for.
  absl::Status Item(Pipeline& out) {
    if (++depth_ > kMaxDepth)
      return Error(Here(1), "the pipeline is nested more than {} deep", kMaxDepth);
    Blanks();
    PipelineItem item;
    const size_t start = at_;
    item.name = std::string(Word());
    item.loc = {static_cast<uint32_t>(start), static_cast<uint32_t>(item.name.size())};
    if (item.name.empty()) {
      return Error(Here(1), "expected a pass name{}",
                   at_ < text_.size() ? fmt::format(", found `{}`", text_[at_]) : "");
    }
    if (item.is_repeat()) RETURN_IF_ERROR(Rounds(item));
    RETURN_IF_ERROR(Options(item));
    if (item.is_fix() || item.is_repeat()) {
      RETURN_IF_ERROR(FixOptions(item));
      if (!Eat('(')) return Error(Here(1), "expected `(` after `{}`", item.name);
      ASSIGN_OR_RETURN(item.children, Items());
      if (!Eat(')')) return Error(Here(1), "expected `)` to close `{}(`", item.name);
    } else if (const NamedPipeline* pipeline = Named(item)) {
      if (!item.options.empty())
        return Error(item.options[0].loc, "pipeline `{}` takes no options", pipeline->name);
      RETURN_IF_ERROR(Expand(*pipeline, item.loc, out));
      --depth_;
      return absl::OkStatus();
    } else {
      if (at_ < text_.size() && text_[at_] == '<') return NoPipeline(item);
      ASSIGN_OR_RETURN(const PassInfo* info, GetPass(item.name, item.loc));
      RETURN_IF_ERROR(info->make(item.options, info->name).status());
    }
    out.push_back(std::move(item));
    --depth_;
    return absl::OkStatus();
  }

  // The pipeline that the item names: `simplify`, or a word with a bracket such as `default<cpu>`.
  const NamedPipeline* Named(PipelineItem& item) {
    if (at_ < text_.size() && text_[at_] == '<') {
      const size_t close = text_.find('>', at_);
      if (close == std::string_view::npos) return nullptr;
      const std::string name = item.name + std::string(text_.substr(at_, close + 1 - at_));
      const NamedPipeline* found = FindPipeline(name);
      if (found == nullptr) return nullptr;
      at_ = close + 1;
      item.loc.length = static_cast<uint32_t>(name.size());
      return found;
    }
    return FindPipeline(item.name);
  }

  // A word with a bracket is no pass.
  absl::Status NoPipeline(const PipelineItem& item) const {
    const size_t close = std::min(text_.find('>', at_), text_.size() - 1);
    const std::string name = item.name + std::string(text_.substr(at_, close + 1 - at_));
    std::vector<std::string_view> names;
    for (const NamedPipeline& pipeline : AllPipelines()) names.push_back(pipeline.name);
    return Error({item.loc.offset, static_cast<uint32_t>(name.size())},
                 "there is no pipeline `{}`{}; pipelines are {}", name, DidYouMean(name, names),
                 Join(names, ", "));
  }

  absl::Status Expand(const NamedPipeline& pipeline, SourceLoc loc, Pipeline& out) const {
    const std::string text = pipeline.Text();
    PipelineParser parser(text);
    parser.depth_ = depth_;
    absl::StatusOr<Pipeline> items = parser.Parse();
    if (!items.ok()) return Internal("pipeline `{}`: {}", pipeline.name, items.status().ToString());
    for (PipelineItem& item : *items) {
      Relocate(item, loc);
      out.push_back(std::move(item));
    }
    return absl::OkStatus();
  }

  static void Relocate(PipelineItem& item, SourceLoc loc) {
    item.loc = loc;
    for (OptionText& option : item.options) option.loc = loc;
    for (PipelineItem& child : item.children) Relocate(child, loc);
  }

  // `<3>` of `repeat<3>(…)`.
  absl::Status Rounds(PipelineItem& item) {
    if (!Eat('<')) return Error(Here(1), "expected `<N>` after `repeat`");
    const size_t start = at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
    const std::string_view digits = text_.substr(start, at_ - start);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), item.limit);
    if (digits.empty() || error != std::errc() || item.limit > 1'000'000) {
      at_ = start;
      return Error(Here(1), "expected the number of rounds of `repeat`, 0 to 1000000");
    }
    if (!Eat('>')) return Error(Here(1), "expected `>` after the number of rounds");
    return absl::OkStatus();
  }

  absl::Status Options(PipelineItem& item) {
    if (!Eat('{')) return absl::OkStatus();
    while (!Eat('}')) {
      Eat(',');
      Blanks();
      OptionText option;
      const size_t start = at_;
      option.name = std::string(Word());
      if (option.name.empty())
        return Error(Here(1), "expected an option name or `}}` in the options of `{}`", item.name);
      // `layout-sensitive` is another spelling of `layout_sensitive`.
      absl::c_replace(option.name, '-', '_');
      if (Eat('=')) {
        option.has_value = true;
        ASSIGN_OR_RETURN(option.value, Value());
      }
      option.loc = {static_cast<uint32_t>(start), static_cast<uint32_t>(at_ - start)};
      item.options.push_back(std::move(option));
    }
    return absl::OkStatus();
  }

  // The value of an option; in quotation marks it may hold commas, blanks, and braces.
  absl::StatusOr<std::string> Value() {
    const size_t start = at_;
    if (at_ < text_.size() && text_[at_] == '"') {
      const size_t end = text_.find('"', at_ + 1);
      if (end == std::string_view::npos)
        return Error(Here(1), "expected another quotation mark after this one");
      at_ = end + 1;
      return std::string(text_.substr(start + 1, end - start - 1));
    }
    while (at_ < text_.size() && text_[at_] != ',' && text_[at_] != '}' && text_[at_] != ' ') ++at_;
    return std::string(text_.substr(start, at_ - start));
  }

  static absl::Status FixOptions(PipelineItem& item) {
    for (const OptionText& option : item.options) {
      if (item.is_repeat()) return Error(option.loc, "`repeat` takes no options");
      if (option.name != "limit")
        return Error(option.loc, "`fix` has no option `{}`; its option is limit", option.name);
      RETURN_IF_ERROR(internal::ParseOption(option, item.limit));
      if (item.limit < 1)
        return Error(option.loc, "the limit of `fix` must be at least 1, found {}", item.limit);
    }
    return absl::OkStatus();
  }

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

absl::StatusOr<Pipeline> ParsePipeline(std::string_view text) {
  return PipelineParser(text).Parse();
}

std::string ToText(const Pipeline& pipeline) {
  std::string out;
  for (const PipelineItem& item : pipeline) {
    if (!out.empty()) out += ',';
    out += item.name;
    if (item.is_repeat()) out += fmt::format("<{}>", item.limit);
    if (!item.options.empty()) {
      out += '{';
      for (size_t i = 0; i < item.options.size(); ++i) {
        if (i > 0) out += ',';
        out += item.options[i].name;
        if (item.options[i].has_value) out += "=" + Quoted(item.options[i].value);
      }
      out += '}';
    }
    if (item.is_fix() || item.is_repeat()) out += "(" + ToText(item.children) + ")";
  }
  return out;
}

}  // namespace hlo

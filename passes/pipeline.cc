#include "passes/pipeline.h"

#include <algorithm>
#include <charconv>

#include "passes/registry.h"

namespace hlo {
namespace {

constexpr int kMaxDepth = 64;

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
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 ||
                                  text_[at_] == '_' || text_[at_] == '-' || text_[at_] == '.')) {
      ++at_;
    }
    return text_.substr(start, at_ - start);
  }

  absl::StatusOr<Pipeline> Items() {
    Pipeline result;
    Blanks();
    if (at_ == text_.size()) return result;
    do {
      ASSIGN_OR_RETURN(PipelineItem item, Item());
      result.push_back(std::move(item));
    } while (Eat(','));
    Blanks();
    return result;
  }

  absl::StatusOr<PipelineItem> Item() {
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
    RETURN_IF_ERROR(Options(item));
    if (item.is_fix()) {
      RETURN_IF_ERROR(FixOptions(item));
      if (!Eat('(')) return Error(Here(1), "expected `(` after `fix`");
      ASSIGN_OR_RETURN(item.children, Items());
      if (!Eat(')')) return Error(Here(1), "expected `)` to close `fix(`");
    } else {
      ASSIGN_OR_RETURN(const PassInfo* info, GetPass(item.name, item.loc));
      RETURN_IF_ERROR(info->make(item.options, item.name).status());
    }
    --depth_;
    return item;
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
      std::replace(option.name.begin(), option.name.end(), '-', '_');
      if (Eat('=')) {
        option.has_value = true;
        const size_t value = at_;
        while (at_ < text_.size() && text_[at_] != ',' && text_[at_] != '}' && text_[at_] != ' ')
          ++at_;
        option.value = std::string(text_.substr(value, at_ - value));
      }
      option.loc = {static_cast<uint32_t>(start), static_cast<uint32_t>(at_ - start)};
      item.options.push_back(std::move(option));
    }
    return absl::OkStatus();
  }

  static absl::Status FixOptions(PipelineItem& item) {
    for (const OptionText& option : item.options) {
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
    if (!item.options.empty()) {
      out += '{';
      for (size_t i = 0; i < item.options.size(); ++i) {
        if (i > 0) out += ',';
        out += item.options[i].name;
        if (item.options[i].has_value) out += "=" + item.options[i].value;
      }
      out += '}';
    }
    if (item.is_fix()) out += "(" + ToText(item.children) + ")";
  }
  return out;
}

}  // namespace hlo

#include "tools/fuzz/programs/random_async.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace hlo {
namespace {

constexpr int kDeepest = 3;

std::string Listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// A chain that has begun.
struct OpenChain {
  std::string state, shape;       // the newest step, and its shape
  std::string done;               // the opcode that ends it
  std::string result;             // its shape
  std::string attributes;         // of its later steps, with a comma before
  std::vector<std::string> late;  // operands that are to be bound
  int bound = 0, operands = 0;
  bool is_generic = false;
};

// A computation that grows.
struct AsyncBody {
  std::string thread = "main";
  int depth = 0;
  bool may_meet = false;  // every device comes here
  std::string choice;     // a pred
  std::string text = {};
  std::vector<std::string> values = {};  // arrays
  std::vector<OpenChain> open = {};
};

class AsyncWriter {
 public:
  explicit AsyncWriter(FuzzRandom& random) : random_(random) {
    const int64_t sizes[] = {1, 3, 4, 16, 64};
    array_ = fmt::format("s32[{}]", sizes[random.Below(std::size(sizes))]);
    devices_ = static_cast<int>(random.OneIn(2) ? 1 : 1 + random.Below(4));
  }

  std::string Run() {
    computations_ =
        "sum {\n  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n  ROOT s = s32[] add(a, "
        "b)\n}\n\n";
    AsyncBody entry{.may_meet = true, .choice = "c"};
    entry.values = {"x", "y"};
    Line(entry, "x = {} parameter(0)", array_);
    Line(entry, "y = {} parameter(1)", array_);
    Line(entry, "c = pred[] parameter(2)");
    Steps(entry, 4 + random_.Below(16));
    std::vector<std::string> results(entry.values.end() - 2, entry.values.end());
    if (random_.OneIn(2)) results.push_back(random_.Pick(entry.values));
    std::vector<std::string> shapes(results.size(), array_);
    Line(entry, "ROOT r = ({}) tuple({})", Listed(shapes), Listed(results));
    return fmt::format("HloModule chains{}{}\n\n{}ENTRY main {{\n{}}}\n",
                       random_.OneIn(2) ? ", is_scheduled=true" : "",
                       devices_ > 1 ? fmt::format(", replica_count={}", devices_) : "",
                       computations_, entry.text);
  }

 private:
  // ---- text ----

  std::string New(std::string_view what) { return fmt::format("{}_{}", what, ++last_); }

  template <class... A>
  void Line(AsyncBody& body, fmt::format_string<A...> text, A&&... values) {
    body.text += "  " + fmt::format(text, std::forward<A>(values)...) + "\n";
  }

  void Finish(const AsyncBody& body, const std::string& name) {
    computations_ += fmt::format(
        "{} {{\n{}}}{}\n\n", name, body.text,
        body.thread == "main" ? "" : fmt::format(", execution_thread=\"{}\"", body.thread));
  }

  const std::string& Any(const AsyncBody& body) { return random_.Pick(body.values); }

  std::string Constant(AsyncBody& body, int64_t value) {
    const std::string name = New("k");
    Line(body, "{} = s32[] constant({})", name, value);
    return name;
  }

  // ---- what a computation does ----

  void Steps(AsyncBody& body, size_t count) {
    for (size_t i = 0; i < count; ++i) Step(body);
    while (!body.open.empty()) End(body);
    Operation(body);
    Operation(body);
  }

  void Step(AsyncBody& body) {
    const bool is_deep = body.depth >= kDeepest;
    switch (random_.Below(12)) {
      case 0:
      case 1:
      case 2: return Operation(body);
      case 3:
      case 4:
      case 5: return is_deep ? Operation(body) : Begin(body);
      case 6:
      case 7: return body.open.empty() ? Operation(body) : End(body);
      case 8: return Continue(body);
      case 9: return is_deep ? Operation(body) : Loop(body);
      case 10: return is_deep || body.choice.empty() ? Operation(body) : Branch(body);
      default: return body.may_meet ? Meet(body) : Operation(body);
    }
  }

  void Operation(AsyncBody& body) {
    constexpr std::string_view kBinary[] = {"add", "subtract", "multiply", "maximum", "xor"};
    const std::string name = New("v");
    if (random_.OneIn(4)) {
      Line(body, "{} = {} negate({})", name, array_, Any(body));
    } else {
      Line(body, "{} = {} {}({}, {})", name, array_, kBinary[random_.Below(std::size(kBinary))],
           Any(body), Any(body));
    }
    body.values.push_back(name);
  }

  // ---- chains ----

  void Begin(AsyncBody& body) {
    if (body.may_meet && random_.OneIn(4)) return BeginMeeting(body);
    if (random_.OneIn(8)) return BeginCopy(body);
    constexpr std::string_view kThreads[] = {"main", "side", "other", "side"};
    const std::string thread(kThreads[random_.Below(std::size(kThreads))]);
    const int operands = static_cast<int>(1 + random_.Below(2));
    const bool is_tuple = thread != "main" && random_.OneIn(3);
    const std::string wrapped = Wrapped(body, thread, operands, is_tuple);
    OpenChain chain{.done = "async-done", .is_generic = true};
    chain.operands = operands;
    chain.result = is_tuple ? fmt::format("({}, {})", array_, array_) : array_;
    if (thread != "main") chain.attributes = fmt::format(", async_execution_thread=\"{}\"", thread);
    chain.bound =
        random_.OneIn(3) ? static_cast<int>(random_.Below(operands + size_t{1})) : operands;
    std::vector<std::string> given;
    for (int i = 0; i < operands; ++i) (i < chain.bound ? given : chain.late).push_back(Any(body));
    chain.shape = StateOf(chain, random_.OneIn(3));
    chain.state = New("s");
    Line(body, "{} = {} async-start({}), calls={}{}{}", chain.state, chain.shape, Listed(given),
         wrapped, chain.attributes, Wish());
    body.open.push_back(std::move(chain));
  }

  // Whether it is to run in the background.
  std::string_view Wish() {
    constexpr std::string_view kWishes[] = {", frontend_attributes={background=\"true\"}",
                                            ", frontend_attributes={background=\"true\"}", "",
                                            ", frontend_attributes={background=\"false\"}"};
    return kWishes[random_.Below(std::size(kWishes))];
  }

  // Operands bound so far, and the result or nothing yet.
  std::string StateOf(const OpenChain& chain, bool hides_result) {
    const std::vector<std::string> bound(static_cast<size_t>(chain.bound), array_);
    const bool is_hidden = hides_result || chain.bound < chain.operands;
    return fmt::format("(({}), {})", Listed(bound), is_hidden ? "()" : chain.result);
  }

  std::string Wrapped(const AsyncBody& from, const std::string& thread, int operands,
                      bool is_tuple) {
    AsyncBody body{.thread = thread, .depth = from.depth + 1};
    for (int i = 0; i < operands; ++i) {
      body.values.push_back(New("p"));
      Line(body, "{} = {} parameter({})", body.values.back(), array_, i);
    }
    if (thread == "main") {  // one operation
      Line(body, "ROOT {} = {} subtract({}, {})", New("r"), array_, Any(body), Any(body));
    } else {
      Steps(body, random_.Below(5));
      const std::string& last = body.values.back();
      if (is_tuple) {
        Line(body, "ROOT {} = ({}, {}) tuple({}, {})", New("r"), array_, array_, last, Any(body));
      } else {
        Line(body, "ROOT {} = {} add({}, {})", New("r"), array_, last, Any(body));
      }
    }
    const std::string name = New("work");
    Finish(body, name);
    return name;
  }

  void BeginMeeting(AsyncBody& body) {
    OpenChain chain{.state = New("s"), .result = array_};
    const std::string& x = Any(body);
    switch (random_.Below(3)) {
      case 0:
        chain.done = "all-reduce-done";
        Line(body, "{} = {} all-reduce-start({}), to_apply=sum{}", chain.state, array_, x, Wish());
        break;
      case 1:
        chain.done = "collective-permute-done";
        Line(body, "{} = ({}, {}) collective-permute-start({}), source_target_pairs={}{}",
             chain.state, array_, array_, x, Pairs(), Wish());
        break;
      default: {
        AsyncBody wrapped;
        Line(wrapped, "a = {} parameter(0)", array_);
        Line(wrapped, "ROOT r = {} all-reduce(a), to_apply=sum", array_);
        const std::string name = New("meeting");
        Finish(wrapped, name);
        chain.done = "async-done";
        Line(body, "{} = (({}), {}) async-start({}), calls={}{}", chain.state, array_, array_, x,
             name, Wish());
      }
    }
    body.open.push_back(std::move(chain));
  }

  void BeginCopy(AsyncBody& body) {
    OpenChain chain{.state = New("s"), .done = "copy-done", .result = array_};
    Line(body, "{} = ({}, {}, u32[]) copy-start({})", chain.state, array_, array_, Any(body));
    body.open.push_back(std::move(chain));
  }

  // A ring.
  std::string Pairs() const {
    std::string text;
    for (int i = 0; i < devices_; ++i)
      text += fmt::format("{}{{{},{}}}", i == 0 ? "" : ",", i, (i + 1) % devices_);
    return "{" + text + "}";
  }

  void Continue(AsyncBody& body) {
    std::vector<size_t> generic;
    for (size_t i = 0; i < body.open.size(); ++i) {
      if (body.open[i].is_generic) generic.push_back(i);
    }
    if (generic.empty()) return Operation(body);
    Update(body, body.open[random_.Pick(generic)], random_.Below(2));
  }

  void Update(AsyncBody& body, OpenChain& chain, size_t at_least) {
    const size_t count = std::min(chain.late.size(), at_least);
    const std::vector<std::string> given(chain.late.begin(),
                                         chain.late.begin() + static_cast<int64_t>(count));
    chain.late.erase(chain.late.begin(), chain.late.begin() + static_cast<int64_t>(count));
    chain.bound += static_cast<int>(count);
    // What has been shown is not hidden again.
    const bool hides = chain.shape.ends_with("())") && random_.OneIn(3);
    chain.shape = StateOf(chain, hides);
    const std::string name = New("u");
    Line(body, "{} = {} async-update({}{}{}){}", name, chain.shape, chain.state,
         given.empty() ? "" : ", ", Listed(given), chain.attributes);
    chain.state = name;
  }

  void End(AsyncBody& body) {
    const size_t at = random_.Below(body.open.size());
    if (!body.open[at].late.empty()) Update(body, body.open[at], body.open[at].late.size());
    const OpenChain chain = body.open[at];
    body.open.erase(body.open.begin() + static_cast<int64_t>(at));
    const std::string name = New("d");
    Line(body, "{} = {} {}({}){}", name, chain.result, chain.done, chain.state, chain.attributes);
    if (chain.result == array_) return body.values.push_back(name);
    for (int i = 0; i < 2; ++i) {
      body.values.push_back(New("g"));
      Line(body, "{} = {} get-tuple-element({}), index={}", body.values.back(), array_, name, i);
    }
  }

  // ---- control flow ----

  void Loop(AsyncBody& body) {
    // Perhaps with a chain that begins before it, and ends after it.
    OpenChain* crossing = nullptr;
    if (!body.open.empty() && random_.OneIn(2))
      crossing = &body.open[random_.Below(body.open.size())];
    if (crossing != nullptr && !crossing->is_generic) crossing = nullptr;
    const std::string state = fmt::format("(s32[], {}, {}{})", array_, array_,
                                          crossing == nullptr ? "" : ", " + crossing->shape);
    AsyncBody condition{.thread = body.thread};
    Line(condition, "p = {} parameter(0)", state);
    Line(condition, "i = s32[] get-tuple-element(p), index=0");
    Line(condition, "n = s32[] constant({})", random_.Below(5));
    Line(condition, "ROOT c = pred[] compare(i, n), direction=LT");
    const std::string more = New("more");
    Finish(condition, more);

    AsyncBody inner{.thread = body.thread, .depth = body.depth + 1, .may_meet = body.may_meet};
    Line(inner, "p = {} parameter(0)", state);
    Line(inner, "i = s32[] get-tuple-element(p), index=0");
    inner.values = {"x", "y"};
    Line(inner, "x = {} get-tuple-element(p), index=1", array_);
    Line(inner, "y = {} get-tuple-element(p), index=2", array_);
    const std::string two = Constant(inner, 2), one = Constant(inner, 1);
    Line(inner, "c = pred[] compare(i, {}), direction=LT", two);
    inner.choice = "c";
    Line(inner, "j = s32[] add(i, {})", one);
    std::string passed;
    if (crossing != nullptr) {
      passed = ", z";
      Line(inner, "z = {} get-tuple-element(p), index=3", crossing->shape);
    }
    Steps(inner, random_.Below(6));
    Line(inner, "ROOT t = {} tuple(j, {}, {}{})", state, inner.values.back(), Any(inner), passed);
    const std::string step = New("step");
    Finish(inner, step);

    const std::string zero = Constant(body, 0), init = New("t"), loop = New("w");
    Line(body, "{} = {} tuple({}, {}, {}{})", init, state, zero, Any(body), Any(body),
         crossing == nullptr ? "" : ", " + crossing->state);
    Line(body, "{} = {} while({}), condition={}, body={}", loop, state, init, more, step);
    for (int i = 1; i < 3; ++i) {
      body.values.push_back(New("g"));
      Line(body, "{} = {} get-tuple-element({}), index={}", body.values.back(), array_, loop, i);
    }
    if (crossing == nullptr) return;
    crossing->state = New("z");
    Line(body, "{} = {} get-tuple-element({}), index=3", crossing->state, crossing->shape, loop);
  }

  void Branch(AsyncBody& body) {
    std::string branches[2];
    for (std::string& branch : branches) {
      AsyncBody inner{.thread = body.thread, .depth = body.depth + 1};
      inner.values = {"x"};
      Line(inner, "x = {} parameter(0)", array_);
      Steps(inner, random_.Below(5));
      Line(inner, "ROOT r = {} subtract({}, {})", array_, inner.values.back(), Any(inner));
      branch = New("branch");
      Finish(inner, branch);
    }
    const std::string name = New("b");
    Line(body, "{} = {} conditional({}, {}, {}), true_computation={}, false_computation={}", name,
         array_, body.choice, Any(body), Any(body), branches[0], branches[1]);
    body.values.push_back(name);
  }

  void Meet(AsyncBody& body) {
    const std::string name = New("m");
    if (random_.OneIn(2)) {
      Line(body, "{} = {} all-reduce({}), to_apply=sum", name, array_, Any(body));
    } else {
      Line(body, "{} = {} collective-permute({}), source_target_pairs={}", name, array_, Any(body),
           Pairs());
    }
    body.values.push_back(name);
  }

  FuzzRandom& random_;
  std::string array_;
  int devices_ = 1;
  int last_ = 0;
  std::string computations_;
};

}  // namespace

std::string RandomAsyncProgram(FuzzRandom& random) { return AsyncWriter(random).Run(); }

}  // namespace hlo

// A circuit of gates behind virtual functions: built, clocked, and tested for what stuck gates would do. Adders are
// templates.
#include "truth_log.h"
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

class Gate
{
  public:
    virtual ~Gate() = default;
    virtual bool settle(const std::vector<char> &wire) const = 0;
};

template <class Operation> class Binary : public Gate
{
  public:
    Binary(int a, int b) : a_(a), b_(b) {}
    bool settle(const std::vector<char> &wire) const override
    {
        return Operation()(wire[a_], wire[b_]);
    }

  private:
    int a_, b_;
};

struct Nand {
    bool operator()(bool a, bool b) const
    {
        return !(a && b);
    }
};
struct Xor {
    bool operator()(bool a, bool b) const
    {
        return a != b;
    }
};
struct Or {
    bool operator()(bool a, bool b) const
    {
        return a || b;
    }
};

class Circuit
{
  public:
    explicit Circuit(int inputs) : inputs_(inputs), wire_(inputs) {}

    template <class Operation> int add(int a, int b)
    {
        auto key =
            std::make_pair(std::make_pair(a, b), sizeof(Operation) + (size_t)Operation()(1, 1) + 2 * Operation()(0, 1));
        auto found = known_.find(key); // the same gate twice is one gate
        if (found != known_.end())
            return found->second;
        gates_.push_back(std::make_unique<Binary<Operation>>(a, b));
        wire_.push_back(0);
        return known_[key] = (int)wire_.size() - 1;
    }

    // A ripple of full adders over Bits wires each of a and b; the number of the last carry.
    template <int Bits> KEPT int add_adder(int a, int b)
    {
        int carry = a;
        for (int bit = 0; bit < Bits; bit++) {
            int half = add<Xor>(a + bit, b + bit);
            int both = add<Nand>(a + bit, b + bit), through = add<Nand>(half, carry);
            add<Xor>(half, carry);
            carry = add<Nand>(both, through);
            add<Or>(carry, half);
        }
        return carry;
    }

    KEPT uint32_t clock(uint32_t pattern)
    {
        for (int i = 0; i < inputs_; i++)
            wire_[i] = pattern >> i % 32 & 1;
        for (size_t g = 0; g < gates_.size(); g++)
            wire_[inputs_ + g] = gates_[g]->settle(wire_);
        uint32_t sum = 0;
        for (size_t g = 0; g < gates_.size(); g += 61)
            sum = sum << 1 ^ sum >> 31 ^ (uint32_t)wire_[inputs_ + g];
        return sum;
    }

    // How many wires change when one gate is stuck.
    KEPT int test_stuck(size_t stuck)
    {
        std::vector<char> wire = wire_;
        int changed = 0;
        wire[inputs_ + stuck] ^= 1;
        for (size_t g = stuck + 1; g < gates_.size(); g++) {
            wire[inputs_ + g] = gates_[g]->settle(wire);
            changed += wire[inputs_ + g] != wire_[inputs_ + g];
        }
        return changed;
    }

    size_t size() const
    {
        return gates_.size();
    }

  private:
    int inputs_;
    std::vector<char> wire_;
    std::vector<std::unique_ptr<Gate>> gates_;
    std::map<std::pair<std::pair<int, int>, size_t>, int> known_;
};

int main(int argc, char **argv)
{
    const double scale = scale_argument(argc, argv);
    const int rounds = 1 + (int)(170 * scale);
    Circuit circuit(128);
    uint32_t sum = 0;
    int changed = 0, last = 0;
    truth_phase("build");
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < 1200; i++)
            last = i % 2 ? circuit.add_adder<16>(i % 64, 64 + i * 7 % 48)
                         : circuit.add_adder<24>(i * 3 % 32, 32 + i * 5 % 64);
    truth_phase("clock");
    for (int i = 0; i < 120 * rounds; i++)
        sum = sum * 31 + circuit.clock((uint32_t)i * 2654435761u);
    truth_phase("test");
    for (int i = 0; i < 130 * rounds; i++)
        changed += circuit.test_stuck((size_t)i * 7919 % circuit.size());
    truth_end();
    printf("circuit: %zu gates, last %d, %08x, %d changed\n", circuit.size(), last, sum, changed);
    return 0;
}
